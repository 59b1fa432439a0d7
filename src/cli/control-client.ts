import { InboxError } from '../base/errors.ts'
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
import { withExamples, withOutputOptions, type OutputOptions } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'
import { createServerCalls, type ServerKind } from './server-call.ts'

export type ControlClient = Awaited<ReturnType<typeof openControl>>

/**
 * A client of the control routes of the emulator of the options. Calls throw the emulator's error as an InboxError, or
 * `emulator_unreachable` if nothing answers. Times are ISO strings of world time.
 *
 * @throws InboxError `usage` for an invalid URL or a missing token
 */
export async function openControl(options: ControlOptions) {
  const origin = emulatorOrigin(options.emulator ?? defaultUrl)
  const token = await readToken(origin, options)
  const { send, open, otherServer } = createServerCalls(emulatorServer, new URL('/_emulator/', origin), token)

  async function get<T>(path: string, query: object = {}, method = 'GET', body?: object): Promise<T> {
    const { status, bytes } = await send(path, { method, query: { ...query }, body })
    const envelope = envelopeIn<T>(bytes.toString())
    if (envelope !== null) return envelope.data
    throw otherServer(status)
  }
  const post = <T>(path: string, body: object = {}, method = 'POST') => get<T>(path, {}, method, body)

  return {
    origin,
    clock: () => get<ShownClock>('clock'),
    /** Resolves when everything due has happened. */
    advance: (ms: number) => post<ShownClock>('clock/advance', { ms }),
    counts: () => get<Counts>('deliveries/counts'),
    trigger: (request: TriggerBody) => post<ShownTriggered>('trigger', request),
    /** Newest first, like all lists. */
    events: (type: string, limit: number) => get<readonly WorldEvent[]>('events', { type, order: 'newest', limit }),
    deliveriesOf: (event: string) => get<readonly ShownDelivery[]>('deliveries', { event, limit: 1_000 }),
    replay: async (id: string) => post<ShownDelivery>(`deliveries/${segment(id)}/replay`),
    /** Replays up to 10,000 matches. More need another call. */
    replayAll: (request: ReplayRequest) =>
      post<{ readonly matched: number; readonly replayed: number }>('deliveries/replay', request),
    setWebhookSecret: async (id: string, secret: string) =>
      post<{ readonly webhookId: string; readonly url: string }>(`webhooks/${segment(id)}`, { secret }, 'PATCH'),
    /** Opens the live stream of Server-Sent Events. */
    stream: (types: readonly string[], signal: AbortSignal) => open(`stream?types=${types.join(',')}`, { signal }),
  }
}

const emulatorServer: ServerKind = {
  code: 'emulator_unreachable',
  name: 'an emulator',
  advice:
    'start `onchain-inbox emulator`, or set its URL with --emulator. For HTTPS set NODE_EXTRA_CA_CERTS to its certificate',
  tokenAdvice:
    'set EMULATOR_CONTROL_TOKEN or --token; the emulator prints its token at start, and draws a new one at each start unless ' +
    'its seed file sets controlToken',
}

/** The emulator is the same program, so its data isn't validated. */
function envelopeIn<T>(text: string): { readonly data: T } | null {
  try {
    const envelope = JSON.parse(text) as { readonly success?: unknown; readonly data: T }
    return envelope.success === true ? envelope : null
  } catch {
    return null
  }
}

/** The origin of an emulator's URL. Throws `usage` for an invalid URL. */
function emulatorOrigin(text: string): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url !== null) return url.origin
  throw new InboxError('usage', '--emulator must be a URL that begins with http:// or https://')
}

/** Options of commands on a running emulator. */
export interface ControlOptions extends OutputOptions {
  readonly emulator?: string
  readonly token?: string
}

const defaultUrl = 'http://127.0.0.1:8090'

/** Adds the options of commands on a running emulator, and examples. */
export function asControlCommand(command: Command, examples: readonly string[], note = ''): Command {
  withOutputOptions(withControlOptions(command), 'print one JSON object per line')
  return withExamples(command, examples, note)
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

async function readToken(url: string, { token }: ControlOptions): Promise<string> {
  if (token !== undefined) return readSecretArgument(token, { url })
  const fromEnv = host().env['EMULATOR_CONTROL_TOKEN']
  if (fromEnv !== undefined && fromEnv !== '') return fromEnv
  if (isLoopbackUrl(url)) return demoCredentials.controlToken
  throw new InboxError('usage', 'the control token is missing: set EMULATOR_CONTROL_TOKEN or --token')
}
