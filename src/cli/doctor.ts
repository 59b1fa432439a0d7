import type { Command } from 'commander'
import type { AcknowledgedJson } from '../admin/upkeep.ts'
import type { HealthJson, GapJson } from '../admin/health.ts'
import { systemClock } from '../base/clock.ts'
import type { LabelledSubscribe } from '../config/subscribe.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { examineMachine } from './doctor/examine.ts'
import { fail, type Finding, ok, warn } from './doctor/machine.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { host } from './host.ts'
import { openEvents } from './open-events.ts'
import { counted, printResult, renderTable } from './output.ts'
import { screenOf } from './screen.ts'
import { configSources } from './settings.ts'
import type { SubscriptionJson } from '../admin/subscription.ts'
import { describeCheck, withoutQuery } from '../client/registration/describe.ts'
import { digestOf, underWayMs } from '../client/registration/register.ts'

interface DoctorOptions extends EventCommandOptions {
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
  asEventCommand(doctor, 'doctor', 'Exits with 1 if a check fails.').action(async (options: DoctorOptions) => {
    if (options.acknowledge) {
      await withEvents(options, async (opened) =>
        printResult(await opened.call('acknowledgeGaps'), options, renderAcknowledged),
      )
      return
    }
    process.umask(0o077)
    const report = await (options.adminUrl === undefined ? examine(options) : examineRemote(options))
    printResult(report, options, render)
    if (report.checks.some(({ result }) => result === 'fail')) host().exitCode = 1
  })
}

/** Checks this machine and the inbox of its settings. */
async function examine(options: DoctorOptions): Promise<DoctorJson> {
  const { findings, database, handlers, subscribe } = await examineMachine(configSources(options), () =>
    systemClock.now(),
  )
  // Opening it would create, upgrade or repair the file.
  if (database.isHeld === false && !database.isReadable) return { checks: findings, health: null }
  try {
    const health = await readHealth(options, handlers ?? undefined)
    return { checks: [...findings, ...judge(health, subscribe)], health }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    // The findings already have it.
    if (error.code === 'config_invalid') return { checks: findings, health: null }
    const advice = 'start the sidecar, and give doctor its settings: the admin address and token'
    return { checks: [...findings, fail('inbox', error.message, advice)], health: null }
  }
}

/** Checks only the inbox: the sidecar may run on another machine. */
async function examineRemote(options: DoctorOptions): Promise<DoctorJson> {
  const health = await readHealth(options)
  return { checks: judge(health, null), health }
}

function judge(health: HealthJson, wanted: LabelledSubscribe | null): readonly Finding[] {
  return [...judgeRegistration(health.subscription, wanted, systemClock.now()), judgeHealth(health)]
}

/** `handlers`: those that a sidecar would load, when none runs. */
async function readHealth(options: DoctorOptions, handlers?: readonly HandlerInfo[]): Promise<HealthJson> {
  const events = await openEvents({ ...options, ...(handlers && { handlers }) })
  try {
    return await events.call('getHealth')
  } finally {
    await events.close()
  }
}

function render({ checks, health }: DoctorJson): string {
  const width = Math.max(...checks.map(({ check }) => check.length))
  const lines = checks.map((finding) => renderFinding(finding, width)).join('\n')
  const count = (wanted: Finding['result']) => checks.filter(({ result }) => result === wanted).length
  const sum = `${count('fail')} failed, ${counted(count('warn'), 'warning')}, ${count('ok')} ok`
  return [lines, sum, ...(health === null ? [] : [renderHealth(health)])].join('\n\n')
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
export function judgeHealth(health: HealthJson): Finding {
  const { missing_sequence_numbers: missing, gaps, dead_letters: dead, quarantined, paused } = health
  const lost = gaps.filter(needsReplay).length
  if (missing > 0 || lost > 0) {
    const found = [
      ...(missing === 0 ? [] : [`${missing} accepted events are missing`]),
      ...(lost === 0 ? [] : [`${counted(lost, 'outage')} with lost events`]),
    ].join(', ')
    const advice = 'replay them in the dashboard of the service, then: onchain-inbox doctor --acknowledge'
    return fail('inbox', found, advice)
  }
  const isPaused = paused || health.paused_handlers.length > 0
  const open = [
    ...(dead === 0 ? [] : [`${counted(dead, 'dead letter')} (onchain-inbox dead list)`]),
    ...(quarantined === 0
      ? []
      : [`${counted(quarantined, 'body', 'bodies')} in quarantine (onchain-inbox quarantine list)`]),
    ...(isPaused ? ['handlers are paused (onchain-inbox handlers list)'] : []),
    ...health.shut_sinks.map(renderShutSink),
    ...(health.not_loaded ?? []).map(renderNotLoaded),
  ]
  if (open.length === 0) return ok('inbox', 'no missing events, nothing needs an operator')
  return warn('inbox', open.join(', '), 'run the commands in brackets')
}

function renderShutSink({ handler, reason, since, until, open_runs: open }: HealthJson['shut_sinks'][number]): string {
  const why = reason === 'pause' ? `is paused until ${until}` : `has failed and is not called since ${since}`
  return `the sink ${handler} ${why}: ${counted(open, 'item')} pending (onchain-inbox handlers list)`
}

function renderNotLoaded({
  handler,
  open_runs: open,
}: {
  readonly handler: string
  readonly open_runs: number
}): string {
  const which = `${counted(open, 'open run')} of ${handler}, which is not loaded`
  return `${which} (restore it, or: onchain-inbox handlers drop ${handler} --reason …)`
}

function needsReplay({ lost, acknowledged_at: acknowledgedAt }: GapJson): boolean {
  return lost !== null && acknowledgedAt === null
}

/** Formats open work and outages for people. */
export function renderHealth(health: HealthJson): string {
  const rows = [
    ['missing events (accepted, not in the database)', String(health.missing_sequence_numbers)],
    ['dead letters', String(health.dead_letters)],
    ['bodies in quarantine', String(health.quarantined)],
    ['oldest open run', health.oldest_open_at ?? '-'],
    ['registered with the service', renderRegistration(health.subscription)],
    ['failing or paused sinks', health.shut_sinks.map(({ handler }) => handler).join(', ') || '-'],
    ['open runs of handlers not loaded', health.not_loaded?.map(({ handler }) => handler).join(', ') || '-'],
    ['paused', health.paused ? 'all handlers' : health.paused_handlers.join(', ') || '-'],
  ]
  const isOver = judgeHealth(health).result !== 'fail'
  const next = isOver ? [] : ['When you have replayed them: onchain-inbox doctor --acknowledge']
  return [renderTable(['inbox', ''], rows), ...renderGaps(health.gaps), ...next].join('\n\n')
}

const shortMs = 60_000
const lengthOf = ({ from, to }: GapJson) => Date.parse(to) - Date.parse(from)

/** Outages in full: the latest, longer ones and those with lost events. The others take one line. */
function renderGaps(gaps: readonly GapJson[]): string[] {
  if (gaps.length === 0) return ['no outages']
  const matters = gaps.map((gap, index) => index === 0 || gap.lost !== null || lengthOf(gap) >= shortMs)
  const others = gaps.filter((_, index) => !matters[index])
  return [...gaps.filter((_, index) => matters[index]).map(renderGap), ...renderShort(others)]
}

function renderShort(gaps: readonly GapJson[]): string[] {
  const first = gaps.at(-1)
  if (first === undefined) return []
  const seconds = Math.ceil(gaps.reduce((sum, gap) => sum + lengthOf(gap), 0) / 1_000)
  return [`${gaps.length} more since ${first.from}, each under a minute: ${seconds} s in all`]
}

const kinds = {
  stopped: 'stopped',
  killed: 'killed or crashed',
  stood_still: 'suspended, unable to write, or its clock was set forward',
} as const

function renderGap(gap: GapJson): string {
  const { from, to, kind, last_arrival_at: last } = gap
  const title =
    kind === 'restored'
      ? `restored from a backup without the time from ${from} to ${to}`
      : `out of service from ${from} to ${to} (${kinds[kind]})`
  const lines = [title, ...renderLost(gap), ...renderRetried(gap), ...(last === null ? [] : [`latest arrival ${last}`])]
  return lines.join('\n  ')
}

function renderLost({ kind, lost, arrived_lost: arrived, acknowledged_at: at }: GapJson): string[] {
  if (lost === null) return []
  const why = kind === 'restored' ? 'accepted ones are gone and not retried' : 'no longer retried by the sender'
  return [
    `first sent from ${lost.from} to ${lost.to}: ${why};`,
    at === null ? 'replay them in the dashboard of the service' : `acknowledged at ${at}`,
    renderArrived(arrived),
  ]
}

function renderRetried({ lost, retried_until: until, arrived, arrived_lost: arrivedLost }: GapJson): string[] {
  if (until === null) return []
  const which = lost === null ? 'all' : 'the others'
  return [`${which}: retried by the sender, the last by ${until}`, renderArrived(arrived - arrivedLost)]
}

function renderArrived(count: number): string {
  return count === 0 ? 'none of them has arrived yet' : `arrived since then: ${count}`
}

/** The registration with the service as one finding, or none. `wanted`: the setting `subscribe`; null if unset or unknown. */
export function judgeRegistration(
  found: SubscriptionJson | null,
  wanted: LabelledSubscribe | null,
  now: number,
): readonly Finding[] {
  if (found === null) return wanted === null ? [] : [notRegistered]
  const { state, at, url } = withoutQuery(found)
  if (state === 'begun') {
    if (Math.abs(now - Date.parse(at)) < underWayMs) return [ok('registration', `begun at ${at}: ${url}`)]
    return [warn('registration', `begun at ${at}, outcome unknown: the receiver may be registered`, describeCheck(url))]
  }
  if (wanted !== null && digestOf({ ...wanted, secretLabel: wanted.secret }) !== found.digest) {
    const advice = '`onchain-inbox subscribe` shows the difference and what to do'
    return [warn('registration', `registered since ${at}, but differs from the setting subscribe`, advice)]
  }
  return [ok('registration', `registered since ${at}: ${url}`)]
}

const notRegistered = warn(
  'registration',
  'not registered with the service, though subscribe is set',
  '`serve` registers it after start and logs errors; to do it by hand: `onchain-inbox subscribe`',
)

function renderRegistration(found: SubscriptionJson | null): string {
  if (found === null) return '-'
  const { state, at, url } = withoutQuery(found)
  return `${state === 'begun' ? 'begun at' : 'since'} ${at}, ${url}`
}
