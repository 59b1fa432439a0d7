import type { Command } from 'commander'
import { durationForm, formatDuration } from '../emulator/duration.ts'
import { duration } from './arguments.ts'
import { asControlCommand, withControl, type ControlOptions, type ControlClient } from './control-client.ts'
import type { Counts } from '../emulator/deliveries/port.ts'
import { printResult } from './output.ts'
import { createProgress } from './screen.ts'

/** One request moves the clock by so much, so that none takes too long. */
const stepMs = 3_600_000

/** `onchain-inbox emulator advance`: moves a manual clock on; whatever falls due happens and is delivered. */
export function addEmulatorAdvanceCommand(emulator: Command): void {
  const advance = emulator
    .command('advance')
    .description('move the manual clock of a running emulator on; whatever falls due happens, and is delivered')
    .argument('<duration>', durationForm, duration)
  asControlCommand(advance, ['emulator advance 60s', 'emulator advance 8h']).action(
    async (ms: number, options: ControlOptions) => {
      await withControl(options, async (client) => {
        const before = await client.counts()
        const clock = await advanceBy(client, ms)
        const after = await client.counts()
        // An extra attempt is no failure, but nobody counts them.
        const isRepeating = (await client.faults()).some(({ rule }) => rule.fault.kind.startsWith('duplicate'))
        printResult({ msg: 'advanced', ms, clock, ...difference(before, after) }, options, (result) => {
          const { attempts, acknowledged, failed, undelivered, pending } = result
          return (
            `${formatDuration(ms)} on, it is ${clock.now}\n` +
            `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${acknowledged} acknowledged, ` +
            `${failed} failed${isRepeating ? ' or made again' : ''}; ${undelivered} undelivered, ${pending} pending now`
          )
        })
      })
    },
  )
}

async function advanceBy(client: ControlClient, ms: number) {
  const progress = createProgress()
  try {
    let clock = await client.advance(Math.min(ms, stepMs))
    for (let done = stepMs; done < ms; done += stepMs) {
      progress.show(done / ms, `it is ${clock.now}`)
      clock = await client.advance(Math.min(ms - done, stepMs))
    }
    return clock
  } finally {
    progress.end()
  }
}

/** What has been done since, and what is still to be done. */
function difference(before: Counts, after: Counts) {
  const attempts = after.attempts - before.attempts
  const acknowledged = after.acknowledged - before.acknowledged
  return {
    attempts,
    acknowledged,
    failed: Math.max(0, attempts - acknowledged),
    undelivered: after.undelivered - before.undelivered,
    cancelled: after.cancelled - before.cancelled,
    pending: after.pending,
  }
}
