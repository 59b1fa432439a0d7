import { expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from '../support/app.ts'
import { AppServer, type AppRequest } from '../support/app-server.ts'
import { conformance, parseLines, type ConformanceResult } from './conformance-stage.ts'

interface Behaviour {
  /** What it tells that it did, of the ids of all that it did. */
  readonly tell?: (ids: readonly string[]) => readonly string[]
  /** Whether it also does what it refuses. */
  readonly isCareless?: boolean
}

/** Runs some scenarios against a receiver that tells something else than what it did. */
async function conformanceOf(
  only: string,
  { tell = (ids) => ids, isCareless = false }: Behaviour,
): Promise<ConformanceResult> {
  await using app = await AppServer.start()
  const done: string[] = []
  app.answer = (request) => {
    if (request.method === 'GET') return { status: 200, body: tell(done).join('\n') }
    const isRight = isAuthentic(request)
    const [id] = /evt_conf[^"]*/.exec(request.body.toString()) ?? []
    if (id !== undefined && (isRight || isCareless) && !done.includes(id)) done.push(id)
    return { status: isRight ? 200 : 401 }
  }
  const args = ['--only', only, '--effects', app.url, '--settle', '2', '--many', '20', '--json']
  return await conformance('--url', app.url, ...args)
}

function isAuthentic({ body, headers }: AppRequest): boolean {
  return headers['x-service-signature'] === sign(body, testSecret)
}

test('a receiver that tells what it did passes, whatever others made it do before', async () => {
  const { code, out } = await conformanceOf('forgery,tampering,order,burst', {
    tell: (ids) => ['evt_conf_of_an_earlier_run_1', 'evt_conf_of_an_earlier_run_1', 'evt_7', ...ids],
  })
  expect(code, out).toBe(0)
  expect(parseLines(out).summary).toMatchObject({ failed: 0, notChecked: 0 })
})

test.each([
  {
    flaw: 'does things in another order',
    only: 'order',
    behaviour: { tell: (ids: readonly string[]) => ids.toReversed() },
    failure: { rule: 'P4', detail: /came: evt_conf_\S+ was done before one that was sent earlier/ },
  },
  {
    flaw: 'does not do all that it acknowledged',
    only: 'burst',
    behaviour: { tell: (ids: readonly string[]) => ids.slice(0, -3) },
    failure: { rule: 'P1', detail: /came: 3 of 20 acknowledged events not done within 2 s: evt_conf_\S+, evt_conf_/ },
  },
  {
    flaw: 'does what it refuses',
    only: 'forgery',
    behaviour: { isCareless: true },
    failure: {
      rule: 'R75',
      detail: /came: done: (evt_conf_\S+, ){2}evt_conf_\S+ and 12 more\nto do: let nothing happen/,
    },
  },
  {
    flaw: 'does what was tampered with',
    only: 'tampering',
    behaviour: { isCareless: true },
    failure: { rule: 'R75', detail: /came: done: evt_conf_/ },
  },
  {
    flaw: 'does things twice',
    only: 'repeated',
    behaviour: { tell: (ids: readonly string[]) => [...ids, ...ids] },
    failure: { rule: 'R88', detail: /came: done 2 times: evt_conf_/ },
  },
])('$failure.rule a receiver that $flaw fails', async ({ only, behaviour, failure }) => {
  const { code, out } = await conformanceOf(only, behaviour)
  expect(code, out).toBe(1)
  const failures = parseLines(out).verdicts.filter(({ verdict }) => verdict === 'failed')
  expect(failures).toMatchObject([{ rule: failure.rule, detail: expect.stringMatching(failure.detail) }])
})

test('a receiver that does not come to rest is not judged by what it has done so far', async () => {
  let reads = 0
  const { code, out } = await conformanceOf('repeated', {
    tell(ids) {
      reads++
      const [last = ''] = ids.slice(-1)
      return [...ids, ...Array.from({ length: reads }, (_, n) => `${last}_more_${n}`)]
    },
  })
  expect(code, out).toBe(0)
  expect(parseLines(out).verdicts.at(-1)).toMatchObject({
    verdict: 'not checked',
    detail: 'the receiver was still at work after 2 s (--settle waits longer)',
  })
})
