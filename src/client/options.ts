import { parseApiUrl } from '../base/api-url.ts'
import type { Clock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { silentLogger, type Logger } from '../base/log.ts'

export interface TransportOptions {
  /** With the prefix of the version and without a slash at its end. */
  readonly baseUrl: string
  readonly apiKey: () => string | Promise<string>
  readonly timeoutMs: number
  readonly retries: number
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal | undefined
  readonly log: Logger
}

export interface ClientOptions {
  /**
   * Where the service is, with the prefix `/v1` at its end or without it (R6). HTTPS, or HTTP to this machine; other HTTP with
   * `allowInsecure` only (R5).
   */
  readonly baseUrl: string
  /** What every request carries (R66). A function is asked before each request: so a key can be replaced. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /**
   * How long a call may take in all, its repeats and the pauses between them included, in milliseconds. What it waits for its turn
   * under the rate limit is not counted. Default 30,000.
   */
  readonly timeoutMs?: number | undefined
  /** How often a call is repeated at most. Default 3. */
  readonly retries?: number | undefined
  /** Lets the key go over plain HTTP to other machines. Default false. */
  readonly allowInsecure?: boolean | undefined
  /** Default: the one of the platform. */
  readonly fetch?: typeof fetch | undefined
  /** Time and randomness. Default: the system's. */
  readonly clock?: Clock | undefined
  /** In [0, 1): for the pauses between repeats. Default: of the clock. */
  readonly random?: (() => number) | undefined
  /** Ends every call of the client. */
  readonly signal?: AbortSignal | undefined
  /** Where repeats and waits are told. Default: nowhere. */
  readonly log?: Logger | undefined
}

/** The system's clock, with timers that keep the process alive: a script must not end while it waits for its turn. */
const waitingClock: Clock = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.max(0, ms))
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}

const maxTimeoutMs = 2 ** 31 - 1
const maxRetries = 100

/** @throws InboxError `config_invalid`, never with the key */
export function parseClientOptions(options: ClientOptions): TransportOptions {
  const { baseUrl, apiKey, timeoutMs = 30_000, retries = 3, clock = waitingClock, log = silentLogger } = options
  if (typeof baseUrl !== 'string') throw refused('baseUrl', 'a URL such as https://api.example.com/v1')
  if (apiKey === undefined || apiKey === '')
    throw refused('apiKey', 'the API key of the service, or a function that gives it')
  requireWhole('timeoutMs', timeoutMs, 1, maxTimeoutMs)
  requireWhole('retries', retries, 0, maxRetries)
  return {
    baseUrl: parseApiUrl(baseUrl, { allowInsecure: options.allowInsecure ?? false }),
    apiKey: typeof apiKey === 'function' ? apiKey : () => apiKey,
    timeoutMs,
    retries,
    fetch: options.fetch ?? fetch,
    clock,
    random: options.random ?? (() => clock.random()),
    signal: options.signal,
    log,
  }
}

/**
 * `timeoutMs` of one call. A timer takes no more than this, and would fire at once.
 *
 * @throws InboxError `usage`
 */
export function parseTimeout(ms: number | undefined): number | undefined {
  if (ms === undefined || isWhole(ms, 1, maxTimeoutMs)) return ms
  throw new InboxError('usage', `timeoutMs: expected a whole number from 1 to ${maxTimeoutMs}, received ${ms}`)
}

const isWhole = (value: number, min: number, max: number) => Number.isInteger(value) && value >= min && value <= max

function requireWhole(name: string, value: number, min: number, max: number): void {
  if (!isWhole(value, min, max)) throw refused(name, `a whole number from ${min} to ${max}`)
}

function refused(name: string, expected: string): InboxError {
  return new InboxError('config_invalid', `createClient: ${name}: expected ${expected}`)
}
