import { createServer } from 'node:net'
import { messageOf } from '../../base/errors.ts'
import { sqliteVersions } from '../../inbox/sqlite/inspect.ts'
import { version } from '../../base/version.ts'
import { isSidecarAt, urlOf } from '../inbox-calls.ts'

/**
 * Result of a check.
 *   ok    nothing to do
 *   warn  works, but needs attention
 *   fail  doesn't work, or will lose events, until it is fixed
 */
export type Result = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** Name of the check, stable across versions. */
  readonly check: string
  readonly result: Result
  /** Values with units, never a secret. */
  readonly found: string
  /** What to do; null if nothing. */
  readonly advice: string | null
}

/** The findings of the check `name`. */
export function check(name: string) {
  return {
    ok: (found: string): Finding => ({ check: name, result: 'ok', found, advice: null }),
    warn: (found: string, advice: string): Finding => ({ check: name, result: 'warn', found, advice }),
    fail: (found: string, advice: string): Finding => ({ check: name, result: 'fail', found, advice }),
  }
}

/** Versions for bug reports. The program itself refuses an older Node. */
export function examineVersions(): Finding {
  const { sqlite, driver } = sqliteVersions()
  const node = process.versions.node
  return check('versions').ok(`onchain-inbox ${version}, Node ${node}, SQLite ${sqlite} (better-sqlite3 ${driver})`)
}

/** Date header of another machine, read between two times of this clock. Milliseconds since 1970. */
interface OtherClock {
  readonly askedAt: number
  readonly answeredAt: number
  /** Truncated to whole seconds. */
  readonly date: number
}

const firstYear = 2026
const lastYear = 2100
/** Tolerated difference of the clocks. */
const maxSkewMs = 5_000
const clockTimeoutMs = 5_000

/** Milliseconds that this clock is ahead of the other; 0 if both may be right. */
function skewOf({ askedAt, answeredAt, date }: OtherClock): number {
  if (askedAt >= date + 1_000) return askedAt - (date + 1_000)
  return answeredAt < date ? answeredAt - date : 0
}

/** Judges this clock by its year and, if known, by the clock of the service. */
export function judgeClock(now: number, other: OtherClock | null): Finding {
  const { ok, warn, fail } = check('clock')
  const date = new Date(now)
  const year = date.getUTCFullYear()
  const advice =
    'set the clock (timedatectl set-ntp true): deliveries, retries, retention and reports of lost events use it'
  if (year < firstYear || year >= lastYear) return fail(`the year is ${year}`, advice)
  const time = date.toISOString()
  if (other === null) return ok(`${time}; set INBOX_API_URL to compare it with the service`)
  const skewMs = skewOf(other)
  if (Math.abs(skewMs) <= maxSkewMs) return ok(`${time}, same as the service`)
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  return warn(`${time}, ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the service`, advice)
}

/** Checks the clock, against the service if its URL is set. Sends nothing secret. */
export async function examineClock(apiUrl: string | undefined, now: () => number): Promise<Finding[]> {
  if (apiUrl === undefined) return [judgeClock(now(), null)]
  try {
    const askedAt = now()
    const signal = AbortSignal.timeout(clockTimeoutMs)
    const { headers } = await fetch(apiUrl, { method: 'HEAD', redirect: 'manual', signal })
    const answeredAt = now()
    const date = Date.parse(headers.get('date') ?? '')
    return [judgeClock(answeredAt, Number.isNaN(date) ? null : { askedAt, answeredAt, date })]
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? messageOf(error.cause) : messageOf(error)
    const found = `no answer from ${new URL(apiUrl).origin} (${reason})`
    return [judgeClock(now(), null), check('service').warn(found, 'check INBOX_API_URL and the network')]
  }
}

export interface PortSettings {
  readonly name: 'INBOX_PORT' | 'INBOX_ADMIN_PORT'
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  /** True if a process serves the database; null if unknown. */
  readonly isInboxServed: boolean | null
}

/** Checks that `serve` can listen on a port, or already does. */
export async function examinePort({ name, host, port, isTls, isInboxServed }: PortSettings): Promise<Finding> {
  const { ok, warn, fail } = check(name === 'INBOX_PORT' ? 'webhook port' : 'admin port')
  if (port === 0) return ok(`any free port at each start (${name}=0)`)
  const address = `${host}:${port}`
  const error = await listenOnce(host, port)
  if (error === null && isInboxServed !== true) return ok(`${address} is free`)
  switch (error?.code) {
    case undefined:
      return warn(
        `${address} is free, but a process holds the database: it listens elsewhere, or is an app with an embedded inbox`,
        'nothing if intended; otherwise run doctor with the settings of the sidecar',
      )
    case 'EADDRINUSE':
      if (!(await isSidecarAt(urlOf(host, port, isTls ? 'https' : 'http'))))
        return fail(`${address} is in use by another program`, `stop it (ss -ltnp | grep :${port}), or change ${name}`)
      if (isInboxServed !== false) return ok(`a sidecar answers on ${address}`)
      return fail(`a sidecar with another database answers on ${address}`, `stop it, or change ${name}`)
    case 'EACCES':
      return fail(
        `this user may not listen on ${address}`,
        `set ${name} to 1024 or above, or give Node CAP_NET_BIND_SERVICE`,
      )
    default:
      return fail(
        `can't listen on ${address} (${messageOf(error)})`,
        'use an address of this machine, such as 127.0.0.1',
      )
  }
}

/** The error of listening there; null if it works. */
export function listenOnce(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}
