import type { Command } from 'commander'
import type { AcknowledgedJson } from '../admin/acts.ts'
import type { GapJson } from '../admin/json.ts'
import type { HealthJson } from '../admin/views.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { printResult, renderTable } from './output.ts'

interface DoctorOptions extends EventCommandOptions {
  readonly acknowledge?: boolean
}

/** `onchain-inbox doctor`: what needs looking at, the times above all in which nothing was received. */
export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .description(
      'say what needs looking at: what is missing, what failed, and which events of a time out of service are lost; ' +
        'exits with 1 if some are',
    )
    .option('--acknowledge', 'say that what is missing or lost is dealt with, so that it is no longer reported')
  asEventCommand(doctor, 'doctor').action(async (options: DoctorOptions) => {
    await withEvents(options, async (opened) => {
      if (options.acknowledge) return printResult(await opened.acknowledgeGaps(), options, renderAcknowledged)
      const health = await opened.showHealth()
      printResult(health, options, renderHealth)
      if (needsSomebody(health)) process.exitCode = 1
    })
  })
}

function needsSomebody({ missing_sequence_numbers: missing, gaps }: HealthJson): boolean {
  return missing > 0 || gaps.some(needsReplay)
}

function needsReplay({ lost, acknowledged_at: acknowledgedAt }: GapJson): boolean {
  return lost !== null && acknowledgedAt === null
}

function renderAcknowledged({ missing_sequence_numbers: missing, gaps }: AcknowledgedJson): string {
  if (missing === 0 && gaps === 0) return 'there was nothing to acknowledge'
  return `acknowledged: ${missing} missing events, ${gaps} ${gaps === 1 ? 'time' : 'times'} with lost events`
}

function renderHealth(health: HealthJson): string {
  const rows = [
    ['accepted events that are missing from the database', String(health.missing_sequence_numbers)],
    ['dead letters', String(health.dead_letters)],
    ['bodies in quarantine', String(health.quarantined)],
    ['oldest open work', health.oldest_open_at ?? '-'],
    ['paused', health.paused ? 'all handlers' : health.paused_handlers.join(', ') || '-'],
  ]
  const next = needsSomebody(health) ? ['Once that is dealt with: onchain-inbox doctor --acknowledge'] : []
  return [renderTable(['inbox', ''], rows), ...renderGaps(health.gaps), ...next].join('\n\n')
}

const shortMs = 60_000
const lengthOf = ({ from, to }: GapJson) => Date.parse(to) - Date.parse(from)

/** In full those that matter: the last one, longer ones, and those with lost events. */
function renderGaps(gaps: readonly GapJson[]): string[] {
  if (gaps.length === 0) return ['it was never out of service']
  const matters = gaps.map((gap, index) => index === 0 || gap.lost !== null || lengthOf(gap) >= shortMs)
  const others = gaps.filter((_, index) => !matters[index])
  return [...gaps.filter((_, index) => matters[index]).map(renderGap), ...renderShort(others)]
}

function renderShort(gaps: readonly GapJson[]): string[] {
  const first = gaps.at(-1)
  if (first === undefined) return []
  const seconds = Math.ceil(gaps.reduce((sum, gap) => sum + lengthOf(gap), 0) / 1_000)
  return [`${gaps.length} more, each of less than a minute, since ${first.from}: ${seconds} s together`]
}

const kinds = {
  stopped: 'stopped',
  killed: 'not running, after a kill or crash',
  stood_still: 'it stood still or could not write, or its clock was set forward',
} as const

function renderGap(gap: GapJson): string {
  const { from, to, kind, last_arrival_at: last } = gap
  const what =
    kind === 'restored'
      ? `restored from a backup that knows nothing of the time from ${from} to ${to}`
      : `out of service from ${from} to ${to} (${kinds[kind]})`
  const lines = [
    what,
    ...renderLost(gap),
    ...renderRetried(gap),
    ...(last === null ? [] : [`the last came at ${last}`]),
  ]
  return lines.join('\n  ')
}

function renderLost({ kind, lost, arrived_lost: arrived, acknowledged_at: at }: GapJson): string[] {
  if (lost === null) return []
  const why = kind === 'restored' ? 'those that were accepted are gone, and not tried again' : 'given up by the sender'
  return [
    `first sent from ${lost.from} to ${lost.to}: ${why};`,
    at === null ? 'replay them by hand in the dashboard of the service' : `acknowledged at ${at}`,
    renderArrived(arrived),
  ]
}

function renderRetried({ lost, retried_until: until, arrived, arrived_lost: arrivedLost }: GapJson): string[] {
  if (until === null) return []
  const which = lost === null ? 'all' : 'the others'
  return [`${which}: tried again by the sender, the last of them by ${until}`, renderArrived(arrived - arrivedLost)]
}

function renderArrived(count: number): string {
  if (count === 0) return 'none of these has come since'
  return count === 1 ? '1 of these has come since' : `${count} of these have come since`
}
