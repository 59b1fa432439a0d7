import { expect, test } from 'vitest'
import { createTrySink } from '../../src/app/try-sink.ts'
import type { OpenBreaker } from '../../src/dispatch/circuit-breaker.ts'

const open: OpenBreaker = { reason: 'breaker', since: 0, until: 1, failures: 5, error: 'no' }

interface Given {
  readonly before?: OpenBreaker | null
  /** The breaker once the sink was tried. */
  readonly after?: OpenBreaker | null
  readonly pending?: number
}

/** A process with the sink `desk`. */
function stage({ before = open, after = null, pending = 1 }: Given = {}) {
  const notes: unknown[] = []
  let current = before
  const row = { handler: 'desk', waiting: 0, ready: pending, suspect: 0, running: 0 }
  const trySink = createTrySink({
    inbox: {
      stats: async () => ({ handlers: [row] }) as never,
      note: async (...given) => void notes.push(given),
    },
    runner: {
      handlers: [{ name: 'desk', kind: 'sink' }] as never,
      get openBreakers() {
        return new Map(current === null ? [] : [['desk', current]])
      },
      send: () => void (current = after),
    },
  })
  return { trySink, notes }
}

test.each<readonly [string, string, Given, string | null]>([
  ['sent', 'closes the breaker', {}, null],
  ['failed', 'fails', { after: { ...open, failures: 6, error: 'still no' } }, 'still no'],
  ['idle', 'has no items', { pending: 0 }, null],
  ['closed', 'has no open breaker', { before: null }, null],
])('the result is %s when the sink %s', async (result, _case, given, error) => {
  const { trySink, notes } = stage(given)
  expect(await trySink('desk', 'operator')).toEqual({ result, error })
  expect(notes).toEqual([['handler.try', { handler: 'desk', result, error }, 'operator']])
})

test('a name that is no loaded sink is refused', async () => {
  await expect(stage().trySink('nobody')).rejects.toMatchObject({ code: 'not_found' })
})
