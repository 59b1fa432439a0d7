import type { Command } from 'commander'
import type { GapJson } from '../admin/json.ts'
import type { HealthJson } from '../admin/views.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { printResult, renderTable } from './output.ts'

/** `onchain-inbox doctor`: what needs looking at, the times above all in which nothing was received. */
export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .description(
      'say what needs looking at: what is missing, what failed, and which events of a time out of service are lost',
    )
  asEventCommand(doctor, 'doctor').action(async (options: EventCommandOptions) => {
    await withEvents(options, async (opened) => {
      const health = await opened.showHealth()
      printResult(health, options, renderHealth)
      // Somebody has to do something.
      if (health.missing_sequence_numbers > 0 || health.gaps[0]?.lost) process.exitCode = 1
    })
  })
}

function renderHealth(health: HealthJson): string {
  const rows = [
    ['accepted events that are missing from the database', String(health.missing_sequence_numbers)],
    ['dead letters', String(health.dead_letters)],
    ['bodies in quarantine', String(health.quarantined)],
    ['oldest open work', health.oldest_open_at ?? '-'],
  ]
  const gaps = health.gaps.length === 0 ? 'it was never out of service' : health.gaps.map(renderGap).join('\n\n')
  return `${renderTable(['inbox', ''], rows)}\n\n${gaps}`
}

function renderGap(gap: GapJson): string {
  const how = gap.clean_stop ? 'stopped' : 'not running, after a kill or crash'
  const came =
    gap.arrived === 0
      ? 'none of its events has come since'
      : `${gap.arrived} of its events have come since, the last at ${gap.last_arrival_at}`
  const lost =
    gap.lost === null
      ? []
      : [
          `  first sent from ${gap.lost.from} to ${gap.lost.to}: given up by the sender; replay them by hand in the dashboard of`,
          '  the service',
        ]
  return [
    `out of service from ${gap.from} to ${gap.to} (${how})`,
    ...lost,
    `  ${gap.lost === null ? 'all' : 'the others'}: tried again by the sender, the last of them by ${gap.retried_until}`,
    `  ${came}`,
  ].join('\n')
}
