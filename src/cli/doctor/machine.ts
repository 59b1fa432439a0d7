import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { messageOf } from '../../base/errors.ts'
import { sqliteVersions } from '../../inbox/sqlite/look.ts'
import { version } from '../../base/version.ts'

/**
 * What one check of `doctor` came to.
 *   ok    nothing to do
 *   warn  it works, but somebody should know
 *   fail  it does not work, or will lose something, until it is mended
 */
export type Result = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** What was looked at, in a word or two; the same words in every version. */
  readonly check: string
  readonly result: Result
  /** What was found: values with their units, never a secret. */
  readonly found: string
  /** What to do; null where nothing is to be done. */
  readonly advice: string | null
}

export const ok = (check: string, found: string): Finding => ({ check, result: 'ok', found, advice: null })

export const warn = (check: string, found: string, advice: string): Finding => ({
  check,
  result: 'warn',
  found,
  advice,
})

export const fail = (check: string, found: string, advice: string): Finding => ({
  check,
  result: 'fail',
  found,
  advice,
})

const oldestNode = 24
/** Beside its connections: files of the database, the admin side, and what handlers open. */
const otherFiles = 250

/** What this is, and what it runs on. */
export function examineVersions(nodeVersion: string = process.versions.node): Finding {
  const { sqlite, driver } = sqliteVersions()
  const found = `onchain-inbox ${version}, Node ${nodeVersion}, SQLite ${sqlite} (better-sqlite3 ${driver})`
  if (Number.parseInt(nodeVersion, 10) >= oldestNode) return ok('versions', found)
  return fail('versions', found, `install Node ${oldestNode} or newer`)
}

/** Whether so many connections can be open at once. `openFiles` is what the system allows this process; null: not known. */
export function judgeLimits(openFiles: number | null, maxConnections: number): Finding {
  if (openFiles === null)
    return ok('limits', `${maxConnections} connections; how many files may be open is not known here`)
  const needed = maxConnections + otherFiles
  const found = `${openFiles} files may be open at once, ${maxConnections} connections are allowed (INBOX_MAX_CONNECTIONS)`
  if (openFiles >= needed) return ok('limits', found)
  return warn('limits', found, `raise it to ${needed} (ulimit -n, LimitNOFILE=), or lower INBOX_MAX_CONNECTIONS`)
}

/** How many files this process may have open: Node has raised the limit as far as the system lets it. */
export function openFilesLimit(): number | null {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | string } }
  }
  const soft = userLimits?.open_files?.soft
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER
  return typeof soft === 'number' ? soft : null
}

/** What time another machine has: its Date header, read between two times of this one. Milliseconds since 1970. */
export interface OtherClock {
  readonly askedAt: number
  readonly answeredAt: number
  /** Whole seconds, cut off. */
  readonly date: number
}

const firstYear = 2026
const lastYear = 2100
/** A Date header has whole seconds, and the answer took its time. */
const bearableMs = 5_000
const clockTimeoutMs = 5_000

/** By how much this clock is ahead of the other: 0 as long as both can be right. Milliseconds. */
export function skewOf({ askedAt, answeredAt, date }: OtherClock): number {
  if (askedAt >= date + 1_000) return askedAt - (date + 1_000)
  return answeredAt < date ? answeredAt - date : 0
}

/** Whether the time of this machine can be right, by itself and beside that of the service, if it was asked. */
export function judgeClock(now: number, other: OtherClock | null): Finding {
  const date = new Date(now)
  const year = date.getUTCFullYear()
  if (year < firstYear || year >= lastYear) {
    return fail(
      'clock',
      `it is the year ${year} here`,
      'set the clock (timedatectl set-ntp true): times of arrival, retries and retention go by it',
    )
  }
  const time = date.toISOString()
  if (other === null) return ok('clock', `${time}; with INBOX_API_URL set it is compared with that of the service`)
  const skewMs = skewOf(other)
  if (Math.abs(skewMs) <= bearableMs) return ok('clock', `${time}, as at the service`)
  const much = `${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of the service`
  return warn(
    'clock',
    `${time}, ${much}`,
    'have it set by NTP (timedatectl set-ntp true): what doctor says of lost events is wrong by as much',
  )
}

/** Looks at the clock, and asks the service for its time, where there is a URL of it; nothing secret is sent. */
export async function examineClock(apiUrl: string | undefined, now: () => number): Promise<Finding[]> {
  if (apiUrl === undefined) return [judgeClock(now(), null)]
  try {
    const askedAt = now()
    const response = await fetch(apiUrl, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(clockTimeoutMs),
    })
    const answeredAt = now()
    const date = Date.parse(response.headers.get('date') ?? '')
    const isTold = !Number.isNaN(date)
    return [judgeClock(answeredAt, isTold ? { askedAt, answeredAt, date } : null)]
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? messageOf(error.cause) : messageOf(error)
    return [
      judgeClock(now(), null),
      warn('service', `no answer from ${new URL(apiUrl).origin} (${reason})`, 'check INBOX_API_URL and the network'),
    ]
  }
}

export interface PortSettings {
  /** The setting that names it. */
  readonly name: 'INBOX_PORT' | 'INBOX_ADMIN_PORT'
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  /** Whether a process works on the database; null: that cannot be told. */
  readonly isInboxHeld: boolean | null
}

const portTimeoutMs = 3_000
const alive = '{"status":"alive"}'

/** Whether `serve` can listen on a port, or does so already. */
export async function examinePort({ name, host, port, isTls, isInboxHeld }: PortSettings): Promise<Finding> {
  const check = name === 'INBOX_PORT' ? 'webhook port' : 'admin port'
  if (port === 0) return ok(check, `a free one is taken at each start (${name}=0)`)
  const place = `${host}:${port}`
  const error = await listenOnce(host, port)
  if (error === null) {
    if (isInboxHeld !== true) return ok(check, `${place} is free`)
    return warn(
      check,
      `${place} is free, but a process works on the database: it listens elsewhere, or is an app with the inbox in it`,
      'nothing, if that is what you want; otherwise give doctor the settings that the sidecar has',
    )
  }
  if (error.code === 'EADDRINUSE') {
    if (!(await isSidecar(host, port, isTls))) {
      return fail(
        check,
        `${place} is in use by another program`,
        `stop that (ss -ltnp | grep :${port}), or change ${name}`,
      )
    }
    if (isInboxHeld !== false) return ok(check, `a sidecar answers on ${place}`)
    return fail(
      check,
      `a sidecar answers on ${place}, but works on another database than this one`,
      `stop that, or change ${name}`,
    )
  }
  if (error.code === 'EACCES') {
    return fail(
      check,
      `${place} is not for this user`,
      `use a port from 1024 with ${name}, or give it CAP_NET_BIND_SERVICE`,
    )
  }
  return fail(
    check,
    `nothing can listen on ${place} (${messageOf(error)})`,
    'name an address of this machine, such as 127.0.0.1',
  )
}

/** What keeps a program from listening there, or null. */
function listenOnce(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

/** Whether one of this program answers there; nothing secret is sent, so whose certificate it has does not matter. */
async function isSidecar(host: string, port: number, isTls: boolean): Promise<boolean> {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const options = { host: name, port, path: '/healthz', agent: false, signal: AbortSignal.timeout(portTimeoutMs) }
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      const request = isTls ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options)
      request.on('error', reject)
      request.on('response', (response) => void text(response).then(resolve, reject))
      request.end()
    })
    return answer === alive
  } catch {
    return false
  }
}
