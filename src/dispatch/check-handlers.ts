import { MessageChannel } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { HandlerThread } from './handler-thread.ts'
import { runnerTiming, type HandlerInfo } from './runner-protocol.ts'
import { everything, type HandlerLocations } from './handler-locations.ts'

/** Time limit of a check, in milliseconds. Shorter than the limit of `serve`, because a person waits for it. */
const checkMs = 10_000

/** Loads all handlers as `serve` would, without running any. Throws `handler_invalid` or `handler_duplicate`. */
export async function checkHandlers(locations: HandlerLocations, limitMs = checkMs): Promise<readonly HandlerInfo[]> {
  const noop = async () => {}
  const thread = new HandlerThread({
    // A thread that is never started has no runs.
    inbox: {
      settle: async () => [],
      retire: noop,
      release: noop,
      reap: async () => ({ runs: 0, dead: [] }),
    },
    data: {
      locations,
      selection: everything,
      secrets: [],
      concurrency: 1,
      owner: 'check',
      suspects: false,
      logLevel: 'silent',
      prettyLog: false,
      logsToOutput: false,
      dispatchPort: new MessageChannel().port1,
    },
    timing: { ...runnerTiming, startMs: limitMs },
    clock: systemClock,
    log: silentLogger,
    onSettled() {},
    onImport() {},
    onStuck() {},
  })
  try {
    return await thread.loaded
  } finally {
    // Not awaited: a thread in a native call ends only when that call returns.
    void thread.kill()
  }
}
