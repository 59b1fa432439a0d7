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
import { printResult, renderTable } from './output.ts'
import { screenOf } from './screen.ts'
import { configSources } from './settings.ts'
import type { SubscriptionJson } from '../admin/subscription.ts'
import { lookThere, withoutQuery } from '../client/registration/describe.ts'
import { digestOf, underWayMs } from '../client/registration/register.ts'

interface DoctorOptions extends EventCommandOptions {
  readonly acknowledge?: boolean
}

/** What `doctor --json` prints; `health` is null where the inbox could not, or was not to be, looked into. */
interface DoctorJson {
  readonly checks: readonly Finding[]
  readonly health: HealthJson | null
}

/** `onchain-inbox doctor`: what needs looking at, on this machine and in the inbox, and what to do about it. */
export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .description(
      'say what needs looking at, and what to do: settings, clock, disk, ports, secrets, handlers, database, and what is missing, ' +
        'failed, or lost; exits with 1 if something is to be mended',
    )
    .option('--acknowledge', 'say that what is missing or lost is dealt with, so that it is no longer reported')
  asEventCommand(doctor, 'doctor').action(async (options: DoctorOptions) => {
    if (options.acknowledge) {
      await withEvents(options, async (opened) =>
        printResult(await opened.call('acknowledgeGaps'), options, renderAcknowledged),
      )
      return
    }
    process.umask(0o077)
    const report = await (options.adminUrl === undefined ? examine(options) : examineFromAfar(options))
    printResult(report, options, render)
    if (report.checks.some(({ result }) => result === 'fail')) host().exitCode = 1
  })
}

/** This machine, and the inbox that its settings name. */
async function examine(options: DoctorOptions): Promise<DoctorJson> {
  const { findings, database, handlers, subscribe } = await examineMachine(configSources(options), () =>
    systemClock.now(),
  )
  // Opening it would create, upgrade or mend the file.
  if (database.isHeld === false && !database.isReadable) return { checks: findings, health: null }
  try {
    const health = await readHealth(options, handlers ?? undefined)
    return { checks: [...findings, ...judge(health, subscribe)], health }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    // A problem of the settings is among the findings.
    if (error.code === 'config_invalid') return { checks: findings, health: null }
    const advice = 'see to it that the sidecar runs, and is asked where it listens, with its token'
    return { checks: [...findings, fail('inbox', error.message, advice)], health: null }
  }
}

/** The inbox alone: the sidecar may run on another machine. */
async function examineFromAfar(options: DoctorOptions): Promise<DoctorJson> {
  const health = await readHealth(options)
  return { checks: judge(health, null), health }
}

function judge(health: HealthJson, wanted: LabelledSubscribe | null): readonly Finding[] {
  return [...judgeRegistration(health.subscription, wanted, systemClock.now()), judgeHealth(health)]
}

/** `handlers`: what a sidecar would load, where none runs. */
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
  const sum = `${count('fail')} to be mended, ${count('warn')} to be looked at, ${count('ok')} well`
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

/** What the inbox itself says, as one finding. */
export function judgeHealth(health: HealthJson): Finding {
  const { missing_sequence_numbers: missing, gaps, dead_letters: dead, quarantined, paused } = health
  const lost = gaps.filter(needsReplay).length
  if (missing > 0 || lost > 0) {
    const found = [
      ...(missing === 0 ? [] : [`${missing} accepted events are missing`]),
      ...(lost === 0 ? [] : [`${lost === 1 ? '1 time' : `${lost} times`} out of service with lost events`]),
    ].join(', ')
    const advice = 'replay them by hand in the dashboard of the service; then: onchain-inbox doctor --acknowledge'
    return fail('inbox', found, advice)
  }
  const isPaused = paused || health.paused_handlers.length > 0
  const waiting = [
    ...(dead === 0 ? [] : [`${dead} dead letters (onchain-inbox dead list)`]),
    ...(quarantined === 0 ? [] : [`${quarantined} bodies in quarantine (onchain-inbox quarantine list)`]),
    ...(isPaused ? ['handlers are paused (onchain-inbox handlers list)'] : []),
    ...health.shut_sinks.map(renderShutSink),
    ...(health.not_loaded ?? []).map(renderNotLoaded),
  ]
  if (waiting.length === 0) return ok('inbox', 'nothing is missing, nothing waits for somebody')
  return warn('inbox', waiting.join(', '), 'look at them')
}

function renderShutSink({ handler, reason, since, until, open_runs: open }: HealthJson['shut_sinks'][number]): string {
  const why = reason === 'pause' ? `asked for a pause until ${until}` : `fails, and is left alone since ${since}`
  return `the sink ${handler} ${why}: ${open} ${open === 1 ? 'item waits' : 'items wait'} (onchain-inbox handlers list)`
}

function renderNotLoaded({
  handler,
  open_runs: open,
}: {
  readonly handler: string
  readonly open_runs: number
}): string {
  const which = `${open} open ${open === 1 ? 'run' : 'runs'} of ${handler}, which is not loaded`
  return `${which} (bring it back, or: onchain-inbox handlers drop ${handler} --reason …)`
}

function needsReplay({ lost, acknowledged_at: acknowledgedAt }: GapJson): boolean {
  return lost !== null && acknowledgedAt === null
}

/** For people: what waits in the inbox, and the times in which nothing was received. */
export function renderHealth(health: HealthJson): string {
  const rows = [
    ['accepted events that are missing from the database', String(health.missing_sequence_numbers)],
    ['dead letters', String(health.dead_letters)],
    ['bodies in quarantine', String(health.quarantined)],
    ['oldest open work', health.oldest_open_at ?? '-'],
    ['registered with the service', renderRegistration(health.subscription)],
    ['sinks that are left alone', health.shut_sinks.map(({ handler }) => handler).join(', ') || '-'],
    ['not loaded, with open runs', health.not_loaded?.map(({ handler }) => handler).join(', ') || '-'],
    ['paused', health.paused ? 'all handlers' : health.paused_handlers.join(', ') || '-'],
  ]
  const isOver = judgeHealth(health).result !== 'fail'
  const next = isOver ? [] : ['Once that is dealt with: onchain-inbox doctor --acknowledge']
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

/**
 * The registration with the service, as one finding; none where there is none and none is `wanted`. `wanted`: the setting `subscribe`,
 * null where there is none, or it is not known.
 */
export function judgeRegistration(
  found: SubscriptionJson | null,
  wanted: LabelledSubscribe | null,
  now: number,
): readonly Finding[] {
  if (found === null) return wanted === null ? [] : [notRegistered]
  const { state, at, url } = withoutQuery(found)
  if (state === 'begun') {
    if (Math.abs(now - Date.parse(at)) < underWayMs) return [ok('registration', `begun at ${at}: ${url}`)]
    return [
      warn('registration', `begun at ${at}, and its end is unknown: it may or may not be registered`, lookThere(url)),
    ]
  }
  if (wanted !== null && digestOf({ ...wanted, secretLabel: wanted.secret }) !== found.digest) {
    const advice = '`onchain-inbox subscribe` says what differs, and what to do'
    return [warn('registration', `registered since ${at}, for something else than the setting subscribe says`, advice)]
  }
  return [ok('registration', `registered since ${at}: ${url}`)]
}

const notRegistered = warn(
  'registration',
  'not registered with the service, as the setting subscribe wants it',
  '`serve` does it once it listens, and says in its log if it cannot; `onchain-inbox subscribe` does it by hand',
)

function renderRegistration(found: SubscriptionJson | null): string {
  if (found === null) return '-'
  const { state, at, url } = withoutQuery(found)
  return `${state === 'begun' ? 'begun at' : 'since'} ${at}, ${url}`
}
