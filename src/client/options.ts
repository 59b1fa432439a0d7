import { parseApiUrl } from '../base/api-url.ts'
import { maxTimerMs, type Clock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { silentLogger, type Logger } from '../base/log.ts'

export type TransportOptions = ReturnType<typeof parseClientOptions>

export interface ClientOptions {
  /**
   * Base URL of the upstream, with or without `/v1` at the end (R6). HTTPS, or HTTP to this machine; HTTP to other machines
   * needs `allowInsecure` (R5).
   */
  readonly baseUrl: string
  /** API key (R66). A function is called before each request, so that keys can be replaced. */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** Time limit of a call in milliseconds, including retries and their pauses, excluding waits for the rate limit. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum retries per call. Default 3. */
  readonly retries?: number | undefined
  /** Allows plain HTTP to other machines, which exposes the key. Default false. */
  readonly allowInsecure?: boolean | undefined
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined
  /** Time and randomness. Default: the system's. */
  readonly clock?: Clock | undefined
  /** Aborts all calls of the client. */
  readonly signal?: AbortSignal | undefined
  /** Logs retries. Default: none. */
  readonly log?: Logger | undefined
}

/** Timers keep the process alive: a script must not end while it waits for the rate limit. */
const waitingClock: Clock = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.max(0, ms))
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}

const maxRetries = 100
export const timeoutRule = `a whole number from 1 to ${maxTimerMs}`

const isWhole = (value: number, min: number, max: number) => Number.isInteger(value) && value >= min && value <= max
export const isTimeout = (ms: number): boolean => isWhole(ms, 1, maxTimerMs)

/** @throws InboxError `config_invalid`, never with the key */
export function parseClientOptions(options: ClientOptions) {
  const { baseUrl, apiKey, timeoutMs = 30_000, retries = 3, clock = waitingClock, log = silentLogger } = options
  requireOption('baseUrl', typeof baseUrl === 'string', 'a URL such as https://api.example.com/v1')
  if (apiKey === undefined || apiKey === '')
    throw invalid('apiKey', 'the API key of the upstream, or a function that returns it')
  requireOption('timeoutMs', isTimeout(timeoutMs), timeoutRule)
  requireOption('retries', isWhole(retries, 0, maxRetries), `a whole number from 0 to ${maxRetries}`)
  return {
    /** URL with the version prefix, without a trailing slash. */
    baseUrl: parseApiUrl(baseUrl, { allowInsecure: options.allowInsecure ?? false }),
    apiKey: typeof apiKey === 'function' ? apiKey : () => apiKey,
    timeoutMs,
    retries,
    fetch: options.fetch ?? fetch,
    clock,
    signal: options.signal,
    log,
  }
}

function requireOption(name: string, isValid: boolean, rule: string): void {
  if (!isValid) throw invalid(name, rule)
}

function invalid(name: string, rule: string): InboxError {
  return new InboxError('config_invalid', `createClient: ${name}: expected ${rule}`)
}
