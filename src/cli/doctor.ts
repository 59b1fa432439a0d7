import type { Command } from 'commander'
import type { AcknowledgedJson } from '../admin/upkeep.ts'
import type { HealthJson } from '../admin/health.ts'
import { systemClock } from '../base/clock.ts'
import type { LabelledSubscribe } from '../config/subscribe.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { examineMachine } from './doctor/examine.ts'
import { fail, type Finding } from './doctor/finding.ts'
import { InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { judgeHealth, judgeRegistration, renderHealth } from './doctor-health.ts'
import { asEventCommand, withEvents, type EventCommandOptions } from './event-command.ts'
import { host } from './host.ts'
import { openEvents } from './open-events.ts'
import { printResult } from './output.ts'
import { screenOf } from './screen.ts'
import { configSources } from './settings.ts'

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
