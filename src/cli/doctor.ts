import type { Command } from 'commander'
import type { AcknowledgedJson } from '../admin/upkeep.ts'
import type { HealthJson, GapJson } from '../admin/health.ts'
import { systemClock } from '../base/clock.ts'
import { examineMachine } from './doctor/examine.ts'
import { check, type Finding } from './doctor/machine.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { withInboxOptions, inboxCommandLine, withInbox, type InboxOptions } from './inbox-command.ts'
import { renderShut } from './handlers.ts'
import { host } from './host.ts'
import type { InboxCallsOptions } from './inbox-calls.ts'
import { counted, printResult, screenOf } from './output.ts'
import { configInputs } from './settings.ts'

interface DoctorOptions extends InboxOptions {
  readonly acknowledge?: boolean
}

/** Output of `doctor --json`. `health` is null if the inbox was not opened. */
interface DoctorJson {
  readonly checks: readonly Finding[]
  readonly health: HealthJson | null
}

/** `onchain-inbox doctor`: checks this machine and the inbox, with advice. */
export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('Check settings, clock, disk, database, handlers and lost events')
    .option('--acknowledge', 'stop reporting the missing and lost events found so far')
  withInboxOptions(doctor, 'doctor', 'Exits with 1 if a check fails.').action(async (options: DoctorOptions) => {
    if (options.acknowledge) {
      await withInbox(options, async (opened) =>
        printResult(await opened.call('acknowledgeGaps'), options, renderAcknowledged),
      )
      return
    }
    const report = await (options.adminUrl === undefined ? examine(options) : examineRemote(options))
    printResult(report, options, render)
    if (report.checks.some(({ result }) => result === 'fail')) host().exitCode = 1
  })
}

/** Checks this machine and the inbox of its settings. */
async function examine(options: DoctorOptions): Promise<DoctorJson> {
  const { findings, database, handlers } = await examineMachine(configInputs(options), () => systemClock.now())
  // Opening it would create, upgrade or repair the file.
  if (database.isServed === false && !database.isReadable) return { checks: findings, health: null }
  try {
    const health = await readHealth({ ...options, ...(handlers && { handlers }) })
    return { checks: [...findings, judgeHealth(health, options)], health }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    // The findings already have it.
    if (error.code === 'config_invalid') return { checks: findings, health: null }
    const advice = 'start the sidecar, and give doctor its settings: the admin address and token'
    // Only a SQLite file shows whether a sidecar should be running.
    const isOptional = database.isServed === null && error.code === 'admin_unreachable'
    const finding = check('inbox')[isOptional ? 'warn' : 'fail'](error.message, advice)
    return { checks: [...findings, finding], health: null }
  }
}

/** Checks only the inbox: the sidecar may run on another machine. */
async function examineRemote(options: DoctorOptions): Promise<DoctorJson> {
  const health = await readHealth(options)
  return { checks: [judgeHealth(health, options)], health }
}

function readHealth(options: InboxCallsOptions): Promise<HealthJson> {
  return withInbox(options, (opened) => opened.call('getHealth'))
}

function render({ checks, health }: DoctorJson): string {
  const width = Math.max(...checks.map(({ check }) => check.length))
  const lines = checks.map((finding) => renderFinding(finding, width)).join('\n')
  const count = (wanted: Finding['result']) => checks.filter(({ result }) => result === wanted).length
  const sum = `${count('fail')} failed, ${counted(count('warn'), 'warning')}, ${count('ok')} ok`
  return [lines, sum, ...(health === null ? [] : renderGaps(health.gaps))].join('\n\n')
}

const tones = { ok: 'green', warn: 'yellow', fail: 'red' } as const

function renderFinding({ check, result, found, advice }: Finding, width: number): string {
  const indent = ' '.repeat('warn'.length + width + 4)
  const mark = screenOf(host().stdout).paint(tones[result], result)
  const [first = '', ...others] = found.split('\n').map((line) => safeText(line, 2_000))
  const more = others.map((line) => `${indent}${line}`)
  const next = advice === null ? [] : [`${indent}→ ${advice}`]
  return [`${mark}${' '.repeat(6 - result.length)}${check.padEnd(width)}  ${first}`, ...more, ...next].join('\n')
}

function renderAcknowledged({ missing_sequence_numbers: missing, gaps }: AcknowledgedJson): string {
  if (missing === 0 && gaps === 0) return 'there was nothing to acknowledge'
  return `acknowledged: ${missing} missing events, ${gaps} ${gaps === 1 ? 'time' : 'times'} with lost events`
}

/** The state of the inbox as one finding. */
function judgeHealth(health: HealthJson, options: DoctorOptions): Finding {
  const commandFor = (words: string) => inboxCommandLine(words, options)
  const { missing_sequence_numbers: missing, dead_letters: dead, quarantined, not_loaded: notLoaded } = health
  const lost = health.gaps.filter(needsReplay).length
  const paused = health.paused ? 'all handlers' : health.paused_handlers.join(', ')
  const bodies = counted(quarantined, 'body', 'bodies')
  const issues = [
    ...(missing === 0 ? [] : [`${missing} accepted events are missing`]),
    ...(lost === 0 ? [] : [`${counted(lost, 'outage')} with lost events`]),
    ...(dead === 0 ? [] : [`${counted(dead, 'dead letter')} (${commandFor('dead list')})`]),
    ...(quarantined === 0 ? [] : [`${bodies} in quarantine (${commandFor('quarantine list')})`]),
    ...(paused === '' ? [] : [`paused: ${paused} (${commandFor('handlers list')})`]),
    ...health.shut_sinks.map((sink) => {
      const pending = `${counted(sink.open_runs, 'item')} pending`
      return `the sink ${sink.handler}: ${renderShut(sink)}; ${pending} (${commandFor('handlers list')})`
    }),
    ...(notLoaded ?? []).map(({ handler, open_runs: runs }) => {
      const drop = commandFor(`handlers drop ${handler} --reason …`)
      return `${counted(runs, 'open run')} of ${handler}, which is not loaded (restore it, or: ${drop})`
    }),
  ]
  const { ok, warn, fail } = check('inbox')
  if (issues.length === 0) return ok('no missing events, nothing needs an operator')
  if (missing + lost === 0) return warn(issues.join(', '), 'run the commands in brackets')
  return fail(
    issues.join(', '),
    `replay lost events in the dashboard of the service, then: ${commandFor('doctor --acknowledge')}`,
  )
}

function needsReplay({ lost, acknowledged_at: acknowledgedAt }: GapJson): boolean {
  return lost !== null && acknowledgedAt === null
}

const shortMs = 60_000

/** Outages that are the latest, longer than a minute, or with lost events. The others are only counted. */
function renderGaps(gaps: readonly GapJson[]): string[] {
  if (gaps.length === 0) return ['no outages']
  const shown = gaps.filter(
    ({ from, to, lost }, index) => index === 0 || lost !== null || Date.parse(to) - Date.parse(from) >= shortMs,
  )
  const others = gaps.length - shown.length
  return [...shown.map(renderGap), ...(others === 0 ? [] : [`and ${others} of less than a minute`])]
}

const kinds: Readonly<Record<GapJson['kind'], string>> = {
  stopped: 'stopped',
  killed: 'killed or crashed',
  stood_still: 'suspended, unable to write, or its clock was set forward',
  restored: 'restored from a backup that lacks this time',
}

function renderGap(gap: GapJson): string {
  const { from, to, kind, lost, retried_until: until, acknowledged_at: at, last_arrival_at: last } = gap
  const next = at === null ? 'replay them in the dashboard of the service' : `acknowledged at ${at}`
  const arrived = (count: number) => (count === 0 ? 'none has arrived yet' : `${count} arrived`)
  return [
    `out of service from ${from} to ${to} (${kinds[kind]})`,
    ...(lost === null
      ? []
      : [`lost: first sent from ${lost.from} to ${lost.to}, not retried (${arrived(gap.arrived_lost)}); ${next}`]),
    ...(until === null ? [] : [`retried by the sender until ${until}: ${arrived(gap.arrived - gap.arrived_lost)}`]),
    ...(last === null ? [] : [`latest arrival ${last}`]),
  ].join('\n  ')
}
