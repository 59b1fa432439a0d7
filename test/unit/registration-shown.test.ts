import { expect, test } from 'vitest'
import { callOperation, operations } from '../../src/admin/routes.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { digestOf } from '../../src/client/registration/register.ts'

const url = 'https://example.com/hook?token=in-the-query'
const wanted = { url, events: ['*'], secretLabel: 'main' }
const body = { digest: digestOf(wanted), url, events: ['*'], secret_label: 'main', replaces: null }

const readEvent = () => {
  throw new Error('no event is read here')
}

test('the admin API logs id, state and URL of a registration without the query', async () => {
  const clock = createTestClock()
  const context = { inbox: await createMemoryInbox({ clock }), readEvent, now: () => clock.now() }
  const post = async (id: 'beginSubscription' | 'endSubscription', sent: unknown) => {
    const answer = await callOperation(context, id, { id: '1', body: sent, by: 'operator (token) ::1' })
    return operations[id].toLog!(answer)
  }
  const logged = { id: 1, url: 'https://example.com/hook' }
  expect(await post('beginSubscription', body)).toEqual({ ...logged, state: 'begun' })
  expect(await post('endSubscription', { state: 'failed', answer: null })).toEqual({ ...logged, state: 'failed' })
})
