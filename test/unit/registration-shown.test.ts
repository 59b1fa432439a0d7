import { expect, test } from 'vitest'
import { callOperation, operations } from '../../src/admin/routes.ts'
import { judgeRegistration } from '../../src/cli/doctor.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { digestOf } from '../../src/client/registration/register.ts'

const url = 'https://example.com/hook?token=in-the-query'
const subscribe = { url, events: ['*'], secret: 'main' }
const wanted = { url, events: ['*'], secretLabel: 'main' }
const body = { digest: digestOf(wanted), url, events: ['*'], secret_label: 'main', replaces: null }

const readEvent = () => {
  throw new Error('no event is read here')
}

async function setUp() {
  const clock = createTestClock()
  const context = { inbox: await createMemoryInbox({ clock }), readEvent, now: () => clock.now() }
  return { clock, context }
}

test('the admin API logs id, state and URL of a registration without the query', async () => {
  const { context } = await setUp()
  const post = async (id: 'beginSubscription' | 'endSubscription', sent: unknown) => {
    const answer = await callOperation(context, id, { id: '1', body: sent, by: 'operator (token) ::1' })
    return operations[id].toLog!(answer)
  }
  const logged = { id: 1, url: 'https://example.com/hook' }
  expect(await post('beginSubscription', body)).toEqual({ ...logged, state: 'begun' })
  expect(await post('endSubscription', { state: 'failed', answer: null })).toEqual({ ...logged, state: 'failed' })
})

test('doctor reports the state of the registration', async () => {
  const { context, clock } = await setUp()
  const judge = async (setting: typeof subscribe | null) => {
    const { subscription } = await callOperation(context, 'getSubscription')
    return judgeRegistration(subscription, setting, clock.now()).map(({ result, found }) => `${result} ${found}`)
  }
  expect(await judge(null)).toEqual([])
  expect(await judge(subscribe)).toEqual(['warn not registered with the service, though subscribe is set'])
  const { subscription } = await callOperation(context, 'beginSubscription', { body })
  const at = subscription!.at
  expect(await judge(subscribe)).toEqual([`ok begun at ${at}: https://example.com/hook`])
  await clock.advance(60_000)
  expect(await judge(null)).toEqual([`warn begun at ${at}, outcome unknown: the receiver may be registered`])
  await callOperation(context, 'endSubscription', { id: '1', body: { state: 'registered', answer: null } })
  expect(await judge(subscribe)).toEqual([`ok registered since ${at}: https://example.com/hook`])
  expect(await judge({ ...subscribe, secret: 'next' })).toEqual([
    `warn registered since ${at}, but differs from the setting subscribe`,
  ])
})
