import { setTimeout as wait } from 'node:timers/promises'
import { InboxError, messageOf, type ErrorCode } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import type { ReplayRequest, ShownDelivery } from '../emulator/control/deliveries.ts'
import type { ShownClock } from '../emulator/control/clock.ts'
import type { ShownTriggered, TriggerBody } from '../emulator/control/trigger.ts'
import type { Counts } from '../emulator/deliveries/delivery.ts'
import type { WorldEvent } from '../emulator/world/port.ts'
import type { Command } from 'commander'
import { demoCredentials } from '../base/demo-credentials.ts'
import { isLoopbackUrl } from '../base/loopback.ts'
import { host } from './host.ts'
import { segment } from './arguments.ts'
import { printNote, withOutputOptions, type OutputOptions } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'

interface DeliveriesQuery {
  readonly type?: string
  readonly endpoint?: string
  /** Id of a delivery: only older ones are listed. */
  readonly after?: string
  readonly limit: number
}

export interface ControlAccess {
  /** URL of an emulator, for example http://127.0.0.1:8090. Its path is ignored. */
  readonly url: string
  readonly token: string
}

export type ControlClient = ReturnType<typeof createControlClient>

const timeoutMs = 10_000
/** Calls that change something may take long. */
const actionTimeoutMs = 280_000
const readyWithinMs = 30_000
const notReadyPollMs = 500

/**
 * A client of the control routes of a running emulator. Calls throw the emulator's error as an InboxError, or
 * `emulator_unreachable` if nothing answers. Times are ISO strings of world time.
 *
 * @throws InboxError `usage` for an invalid URL
 */
export function createControlClient({ url, token }: ControlAccess) {
  const base = new URL(emulatorOrigin(url))
  const authorization = { Authorization: `Bearer ${token}` }

  async function call<T>(path: string, method = 'GET', body: object | null = null): Promise<T> {
    const limitMs = method === 'GET' ? timeoutMs : actionTimeoutMs
    const response = await reach(`_emulator/${path}`, {
      method,
      headers: { ...authorization, ...(body !== null && { 'Content-Type': 'application/json' }) },
      ...(body !== null && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(limitMs),
    })
    // The emulator is the same program, so its answers aren't validated.
    const { data } = (await readEnvelope(response)) as { readonly data: T }
    return data
  }

  async function reach(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(new URL(path, base), { ...init, redirect: 'error' })
    } catch (error) {
      throw unreachable(error)
    }
  }

  /** The envelope of a successful answer. Throws the error of any other. */
  async function readEnvelope(response: Response): Promise<unknown> {
    const text = await response.text().catch((error: unknown) => {
      throw unreachable(error)
    })
    const envelope = parseEnvelope(text)
    if (envelope === null) {
      throw new InboxError(
        'emulator_unreachable',
        `${base.origin} is not an emulator (status ${response.status}): set its URL with --emulator`,
      )
    }
    if (!('error' in envelope)) return envelope
    throw toError(response.status, envelope.error, base)
  }

  function unreachable(error: unknown): InboxError {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const advice = isUntrusted(cause)
      ? 'its certificate is not trusted: set NODE_EXTRA_CA_CERTS to the certificate file that the emulator prints'
      : 'start `onchain-inbox emulator`, or set its URL with --emulator'
    return new InboxError(
      'emulator_unreachable',
      `no answer from an emulator at ${base.origin} (${messageOf(cause)}): ${advice}`,
      { cause: error },
    )
  }

  return {
    origin: base.origin,
    clock: () => call<ShownClock>('clock'),
    /** Resolves when everything due has happened. */
    advance: (ms: number) => call<ShownClock>('clock/advance', 'POST', { ms }),
    counts: () => call<Counts>('deliveries/counts'),
    trigger: (request: TriggerBody) => call<ShownTriggered>('trigger', 'POST', request),
    /** Newest first, like all lists. */
    events: (type: string, limit: number) =>
      call<readonly WorldEvent[]>(`events?${search({ type, order: 'newest', limit: String(limit) })}`),
    deliveriesOf: (event: string) => call<readonly ShownDelivery[]>(`deliveries?${search({ event, limit: '1000' })}`),
    deliveries: ({ limit, ...filter }: DeliveriesQuery) =>
      call<readonly ShownDelivery[]>(`deliveries?${search({ ...filter, limit: String(limit) })}`),
    delivery: async (id: string) => call<ShownDelivery>(`deliveries/${segment(id)}`),
    replay: async (id: string) => call<ShownDelivery>(`deliveries/${segment(id)}/replay`, 'POST'),
    /** Replays up to 10,000 matches. More need another call. */
    replayAll: (request: ReplayRequest) =>
      call<{ readonly matched: number; readonly replayed: number }>('deliveries/replay', 'POST', request),
    setWebhookSecret: async (id: string, secret: string) =>
      call<{ readonly webhookId: string; readonly url: string }>(`webhooks/${segment(id)}`, 'PATCH', { secret }),
    /** Draws a new secret for the alerts of an account; default: the first account. */
    drawAlertSecret: (account?: string) =>
      call<{ readonly alertSecret: string }>('alert-secret', 'POST', account === undefined ? {} : { account }),
    /** Opens the live stream of Server-Sent Events. */
    async stream(types: readonly string[], signal: AbortSignal): Promise<Response> {
      const path = `_emulator/stream?types=${types.join(',')}`
      const headers = { ...authorization, Accept: 'text/event-stream' }
      const response = await reach(path, { headers, signal })
      if (!response.ok) await readEnvelope(response)
      return response
    },
  }
}

/** The origin of an emulator's URL. Throws `usage` for an invalid URL. */
function emulatorOrigin(text: string): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url !== null) return url.origin
  throw new InboxError('usage', '--emulator must be a URL that begins with http:// or https://')
}

const untrustedCodes: readonly unknown[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

function isUntrusted(error: unknown): boolean {
  return error instanceof Error && untrustedCodes.includes((error as NodeJS.ErrnoException).code)
}

interface ErrorBody {
  readonly code: string
  readonly message: string
}

function parseEnvelope(text: string): { readonly data: unknown } | { readonly error: ErrorBody } | null {
  try {
    const envelope = JSON.parse(text) as {
      readonly success?: unknown
      readonly data: unknown
      readonly error: ErrorBody
    }
    if (envelope.success === true) return { data: envelope.data }
    return envelope.success === false && typeof envelope.error.message === 'string' ? { error: envelope.error } : null
  } catch {
    return null
  }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'body_too_large',
  429: 'overloaded',
  500: 'internal',
  503: 'overloaded',
}

function toError(status: number, { message }: ErrorBody, { origin }: URL): InboxError {
  if (status === 401) {
    const advice =
      'set EMULATOR_CONTROL_TOKEN or --token; the emulator prints its token at start, and draws a new one at each start unless ' +
      'its seed file sets controlToken'
    return new InboxError('unauthorized', `the emulator at ${origin} rejected the control token: ${advice}`)
  }
  return new InboxError(codes[status] ?? 'bad_request', safeText(message, 1_000))
}

function search(query: Readonly<Record<string, string>>): string {
  return new URLSearchParams(query).toString()
}

/** Options of commands on a running emulator. */
export interface ControlOptions extends OutputOptions {
  readonly emulator?: string
  readonly token?: string
}

const defaultUrl = 'http://127.0.0.1:8090'

/** Adds the options of commands on a running emulator, and examples. */
export function asControlCommand(command: Command, examples: readonly string[]): Command {
  return withOutputOptions(withControlOptions(command), 'print one JSON object per line').addHelpText(
    'after',
    `\nExamples:\n${examples.map((example) => `  $ onchain-inbox ${example}\n`).join('')}`,
  )
}

/** Adds `--emulator` and `--token`. */
export function withControlOptions(command: Command): Command {
  return command
    .option('--emulator <url>', `URL of the emulator (default: ${defaultUrl})`)
    .option(
      '--token <token>',
      'its control token: @file, - for standard input, or env:NAME (default: EMULATOR_CONTROL_TOKEN, then the demo token)',
    )
}

/** Connects to the emulator of the options, once its world is ready. Throws `usage` for an invalid URL or a missing token. */
export async function openControl(options: ControlOptions): Promise<ControlClient> {
  const url = emulatorOrigin(options.emulator ?? defaultUrl)
  const client = createControlClient({ url, token: await readToken(url, options) })
  const deadline = performance.now() + readyWithinMs
  for (let isFirst = true; ; isFirst = false) {
    try {
      await client.clock()
      return client
    } catch (error) {
      const isCreating = error instanceof InboxError && error.code === 'overloaded'
      if (!isCreating || performance.now() >= deadline) throw error
      if (isFirst && host().stderr.isTTY) printNote('the emulator is still creating its world: waiting up to 30 s')
      await wait(notReadyPollMs)
    }
  }
}

async function readToken(url: string, { token }: ControlOptions): Promise<string> {
  if (token !== undefined) return readSecretArgument(token, { url })
  const fromEnv = host().env['EMULATOR_CONTROL_TOKEN']
  if (fromEnv !== undefined && fromEnv !== '') return fromEnv
  if (isLoopbackUrl(url)) return demoCredentials.controlToken
  throw new InboxError('usage', 'the control token is missing: set EMULATOR_CONTROL_TOKEN or --token')
}

/** Runs `work`, which returns the exit code (default: 0), with a client. */
export async function withControl(
  options: ControlOptions,
  work: (client: ControlClient) => Promise<number | void>,
): Promise<void> {
  host().exitCode = (await work(await openControl(options))) ?? 0
}
