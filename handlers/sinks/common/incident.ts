import { createHash } from 'node:crypto'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import type { Severity } from 'onchain-inbox/format'
import { z } from 'zod'
import { isInvalidRequest, isSuccess, jsonHeaders, post, toHttpError } from './http.ts'
import { secretBaseUrl, shortRetry } from './kind.ts'
import { toMessage, toInboxWarning, type Message } from './message.ts'

/** Options of all alerting services. */
export const incidentOptions = {
  /** Events below this severity open no alert. */
  minSeverity: z.enum(['info', 'warning', 'critical']).default('warning'),
  region: z.enum(['us', 'eu']).default('us'),
  /** Default: the API of the region. */
  baseUrl: secretBaseUrl.optional(),
}

/** Text in an enqueued payload. */
export const text = z.string().min(1)

interface IncidentRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
}

/** An alerting service. */
interface IncidentService<P extends z.ZodType> {
  /** Name in errors. */
  readonly service: string
  readonly secret: string
  /** Maximum length of an alert id. */
  readonly maxIdLength: number
  /** Schema of enqueued payloads. */
  readonly payload: P
  /** Description of a valid payload. */
  readonly rule: string
  readonly minSeverity: Severity
  /** Requests per second; undefined: no limit. */
  readonly rate?: number
  open(message: Message, id: string, event: SinkItem['event']): IncidentRequest
  close(id: string): IncidentRequest
  /** The request for an enqueued payload. `toId` shortens an id; default: the item's idempotency key. */
  handle(payload: z.output<P>, toId: (id?: string) => string, event: SinkItem['event']): IncidentRequest
}

const severities: readonly Severity[] = ['info', 'warning', 'critical']

/** Opens one alert per event of at least `minSeverity`; its id is the event's. When a warning of the inbox is resolved, its alert is closed. */
export function createIncidentSink<P extends z.ZodType>(incidents: IncidentService<P>): Readonly<SinkDefinition> {
  const { service, secret, maxIdLength, payload: schema, rule, rate } = incidents
  const isSevere = (severity: Severity) => severities.indexOf(severity) >= severities.indexOf(incidents.minSeverity)
  const toId = (id: string) =>
    id.length <= maxIdLength ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`

  /** Undefined: below `minSeverity`. */
  function toRequest({ payload, event, idempotencyKey }: SinkItem): IncidentRequest | undefined {
    if (payload !== undefined) {
      const { data, error } = schema.safeParse(payload)
      if (error === undefined) return incidents.handle(data, (id = idempotencyKey) => toId(id), event)
      const [{ path, message } = { path: [], message: '' }] = error.issues
      throw new TerminalError(`${rule}; ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`)
    }
    const warning = toInboxWarning(event)
    const id = toId(warning?.incident ?? event.uid)
    if (warning?.isResolved === true) return isSevere(warning.level) ? incidents.close(id) : undefined
    const message = toMessage(event)
    return isSevere(message.severity) ? incidents.open(message, id, event) : undefined
  }

  return {
    concurrency: 2,
    ...(rate !== undefined && { rate }),
    timeoutMs: 30_000,
    ...shortRetry,
    async send([item], ctx) {
      const request = item && toRequest(item)
      if (request === undefined) return
      const response = await post({
        url: request.url,
        headers: { ...jsonHeaders, ...request.headers },
        body: JSON.stringify(request.body),
        signal: ctx.signal,
        receiver: service,
        secrets: [secret],
      })
      if (isSuccess(response)) return
      const error = toHttpError(response, service, (ms) => ctx.pause(ms))
      throw isInvalidRequest(response) ? new TerminalError(error.message) : error
    },
  }
}

/** Cuts text to `maxLength` characters, without splitting a surrogate pair. */
export function cut(value: string, maxLength: number): string {
  return value.length <= maxLength ? value : `${value.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
