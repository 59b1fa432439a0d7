import { createHash } from 'node:crypto'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import type { Severity } from 'onchain-inbox/format'
import { z } from 'zod'
import { isInvalidRequest, isSuccess, jsonHeaders, post, toHttpError } from './common/http.ts'
import { secretBaseUrl, shortRetry, shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'
import { toInboxWarning, toMessage } from './common/message.ts'

const options = z.strictObject({
  routingKey: z.string().regex(/^[A-Za-z0-9]{32}$/, { error: 'expected the 32 characters of an integration key' }),
  /** Events below this severity open no alert. */
  minSeverity: z.enum(['info', 'warning', 'critical']).default('warning'),
  region: z.enum(['us', 'eu']).default('us'),
  /** Default: the API of the region. */
  baseUrl: secretBaseUrl.optional(),
  /** Source of the alerts. */
  source: z.string().min(1).max(255).default('onchain-inbox'),
})

type Options = z.output<typeof options>

/**
 * Opens PagerDuty alerts by the Events API v2: one per event of at least `minSeverity`. The id of an alert is its
 * `dedup_key`: the event's id. When a warning of the inbox is resolved, its alert is resolved.
 */
export default {
  options,
  target: ({ region }) => shownOption(region),
  example: "{ kind: 'pagerduty', routingKey: { env: 'PAGERDUTY_KEY' } }",
  create,
} satisfies SinkKind<typeof options>

const regionUrls = { us: 'https://events.pagerduty.com', eu: 'https://events.eu.pagerduty.com' }
const severities: readonly Severity[] = ['info', 'warning', 'critical']
/** Characters. */
const maxIdLength = 255
const maxSummaryLength = 1_024
/** PagerDuty accepts half a megabyte per request. */
const maxDataBytes = 100_000

const text = z.string().min(1)
const payloadSchema = z
  .strictObject({
    action: z.enum(['trigger', 'acknowledge', 'resolve']).default('trigger'),
    summary: text.optional(),
    severity: z.enum(['info', 'warning', 'error', 'critical']).default('warning'),
    details: z.unknown().optional(),
    dedupKey: text.optional(),
  })
  .refine(({ action, summary, dedupKey }) => (action === 'trigger' ? summary : dedupKey) !== undefined)
const rule =
  "the sink takes { summary, severity, details } to open an alert, or { action: 'acknowledge' | 'resolve', dedupKey } for one that is open"

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const { routingKey, source, minSeverity } = options
  const url = `${options.baseUrl ?? regionUrls[options.region]}/v2/enqueue`
  const isSevere = (severity: Severity) => severities.indexOf(severity) >= severities.indexOf(minSeverity)
  const request = (action: string, id: string, alert: object = {}) => {
    const dedupKey = id.length <= maxIdLength ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`
    return { routing_key: routingKey, event_action: action, dedup_key: dedupKey, ...alert }
  }
  const trigger = (id: string, summary: string, details: object, links: readonly object[] = []) =>
    request('trigger', id, {
      client: 'onchain-inbox',
      payload: { summary: cut(summary, maxSummaryLength), source, ...details },
      links,
    })

  function ofPayload({ payload, event, idempotencyKey }: SinkItem): object {
    const { data, error } = payloadSchema.safeParse(payload)
    if (error !== undefined) {
      const [{ path, message } = { path: [], message: '' }] = error.issues
      throw new TerminalError(`${rule}; ${path.length === 0 ? '' : `${path.join('.')}: `}${message}`)
    }
    const { action, summary = '', severity, details, dedupKey = idempotencyKey } = data
    if (action !== 'trigger') return request(action, dedupKey)
    return trigger(dedupKey, summary, {
      severity,
      class: event.type,
      custom_details: { event_id: event.uid, details },
    })
  }

  /** Null: below `minSeverity`. */
  function ofEvent({ event }: SinkItem): object | null {
    const warning = toInboxWarning(event)
    const id = warning?.incident ?? event.uid
    if (warning?.isResolved === true) return isSevere(warning.level) ? request('resolve', id) : null
    const { title, severity, network, facts, text: more, links } = toMessage(event)
    if (!isSevere(severity)) return null
    const details = {
      severity,
      ...toTimestamp(event.created_at),
      ...(network !== null && { component: network }),
      class: event.type,
      custom_details: {
        ...Object.fromEntries(facts),
        ...(more !== undefined && { text: more }),
        event_id: event.uid,
        ...(event.raw.length <= maxDataBytes && { data: event.data }),
      },
    }
    const shownLinks = links.map((link) => ({ href: link.url, text: link.label }))
    return trigger(id, title, details, shownLinks)
  }

  return {
    concurrency: 2,
    // Requests per second.
    rate: 2,
    timeoutMs: 30_000,
    ...shortRetry,
    async send([item], ctx) {
      const body = item && (item.payload === undefined ? ofEvent(item) : ofPayload(item))
      if (!body) return
      const response = await post({
        url,
        headers: jsonHeaders,
        body: JSON.stringify(body),
        signal: ctx.signal,
        receiver: 'PagerDuty',
        secrets: [routingKey],
      })
      if (isSuccess(response)) return
      const error = toHttpError(response, 'PagerDuty', (ms) => ctx.pause(ms))
      throw isInvalidRequest(response) ? new TerminalError(error.message) : error
    },
  }
}

/** Cuts text to `maxLength` characters, without splitting a surrogate pair. */
function cut(value: string, maxLength: number): string {
  return value.length <= maxLength ? value : `${value.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Omitted if JavaScript can't parse the time, such as a leap second. */
function toTimestamp(createdAt: string): object {
  const time = Date.parse(createdAt)
  return Number.isNaN(time) ? {} : { timestamp: new Date(time).toISOString() }
}
