import { createHash } from 'node:crypto'
import { TerminalError, type SinkContext, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { hider, isUnusable, pausingRefusal, postJson, type Answer } from './http.ts'
import type { Severity } from 'onchain-inbox/format'
import { toMessage, toOwnWarning, type Message } from './message.ts'

/** Events below this severity open no alert. */
export const minSeverity = z.enum(['info', 'warning', 'critical']).default('warning')
export const region = z.enum(['us', 'eu']).default('us')
/** Text in an enqueued payload. */
export const text = z.string().min(1)

export interface IncidentRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
}

/** An alerting service. */
export interface IncidentService<P extends z.ZodType> {
  /** Name in messages. */
  readonly who: string
  readonly secret: string
  /** Maximum length of an alert id. */
  readonly idLength: number
  /** Schema of enqueued payloads. */
  readonly payload: P
  /** Description of a valid payload. */
  readonly expected: string
  open(message: Message, id: string, event: SinkItem['event']): IncidentRequest
  close(id: string): IncidentRequest
  /** The request for an enqueued payload. `toId` shortens an id; default: the item's idempotency key. */
  act(payload: z.output<P>, toId: (id?: string) => string, event: SinkItem['event']): IncidentRequest
}

interface IncidentOptions {
  readonly minSeverity: Severity
  /** Requests per second. */
  readonly rate?: number
}

const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 }

/**
 * Opens one alert per event of at least `minSeverity`; its id is the event's. When a warning of the inbox is resolved,
 * its alert is closed.
 */
export function createIncidentSink<P extends z.ZodType>(
  service: IncidentService<P>,
  { minSeverity: least, rate }: IncidentOptions,
): Readonly<SinkDefinition> {
  const { who, secret, idLength, payload: schema, expected } = service
  const hide = hider([secret])
  const isSevere = (severity: Severity) => ranks[severity] >= ranks[least]
  const toId = (id: string) => (id.length <= idLength ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`)

  /** Undefined: below `minSeverity`. */
  function toRequest({ payload, event, idempotencyKey }: SinkItem): IncidentRequest | undefined {
    if (payload !== undefined) {
      const { data, error } = schema.safeParse(payload)
      if (error === undefined) return service.act(data, (id = idempotencyKey) => toId(id), event)
      const [{ path, message } = { path: [], message: '' }] = error.issues
      throw new TerminalError(`${expected}; ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`)
    }
    const warning = toOwnWarning(event)
    const id = toId(warning?.incident ?? event.id)
    if (warning?.isResolved === true) return isSevere(warning.level) ? service.close(id) : undefined
    const message = toMessage(event)
    return isSevere(message.severity) ? service.open(message, id, event) : undefined
  }

  return {
    concurrency: 2,
    ...(rate !== undefined && { rate }),
    timeoutMs: 30_000,
    retry: { attempts: 60, baseMs: 1_000, capMs: 600_000 },
    breaker: {},
    async send([item], ctx) {
      const request = item && toRequest(item)
      if (request !== undefined) expectSuccess(await postJson({ ...request, signal: ctx.signal, who, hide }), who, ctx)
    },
  }
}

/** Cuts text to `longest` characters, without splitting a surrogate pair. */
export function cut(value: string, longest: number): string {
  return value.length <= longest ? value : `${value.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Throws unless the answer is a success. An invalid request is not retried. */
function expectSuccess(answer: Answer, who: string, ctx: SinkContext): void {
  if (answer.status >= 200 && answer.status < 300) return
  const error = pausingRefusal(answer, who, (ms) => ctx.pause(ms))
  throw isUnusable(answer) ? new TerminalError(error.message) : error
}
