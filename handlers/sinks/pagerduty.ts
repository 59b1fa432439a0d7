import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import {
  cut,
  expectSuccess,
  fittingId,
  isAtLeast,
  minSeverity,
  readChoice,
  readPayload,
  readText,
  region,
} from './common/incident.ts'
import { place, secretBaseUrl, type SinkKind, type SinkSetup } from './common/kind.ts'
import { toMessage, toOwnWarning } from './common/message.ts'
import { hider, postJson } from './common/http.ts'

/** Events become alerts of a PagerDuty service, by the Events API v2. */
const options = z
  .strictObject({
    routingKey: z.string().regex(/^[A-Za-z0-9]{32}$/, { error: 'expected the 32 characters of an integration key' }),
    minSeverity,
    /** What the alerts say they come from. */
    source: z.string().min(1).max(255).default('onchain-inbox'),
    region,
    /** Default: that of the region. */
    baseUrl: secretBaseUrl.optional(),
  })
  .transform(({ region: where, baseUrl, ...rest }) => ({
    ...rest,
    baseUrl: baseUrl ?? `https://events.${where === 'eu' ? 'eu.' : ''}pagerduty.com`,
  }))

type Options = z.output<typeof options>

export default {
  options,
  target: ({ region }) => place(region),
  examples: { routingKey: ['an integration key, as text', "{ env: 'PAGERDUTY_KEY' }"] },
  create,
} satisfies SinkKind<typeof options>

const longestSummary = 1_024
const longestKey = 255
/** PagerDuty takes half a megabyte in all. */
const mostData = 100_000
const expected =
  "the sink takes { summary, severity, details } to open an alert, or { action: 'acknowledge' | 'resolve', dedupKey } for one that is open"

/**
 * Opens an alert at PagerDuty for each event from `minSeverity` on, once: its `dedup_key` is the event's id. That of a warning of the
 * inbox itself is resolved when the warning is over.
 */
function create({ name, options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const hide = hider([options.routingKey])
  return {
    name,
    concurrency: 2,
    rate: 2,
    timeoutMs: 30_000,
    retry: { attempts: 60, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send([item], ctx) {
      const body = item && toBody(item, options)
      if (body === undefined) return
      const url = `${options.baseUrl}/v2/enqueue`
      const { signal } = ctx
      const answer = await postJson({
        url,
        body: { routing_key: options.routingKey, ...body },
        signal,
        who: 'PagerDuty',
        hide,
      })
      expectSuccess(answer, 'PagerDuty', ctx)
    },
  }
}

/** Undefined: nothing is to be opened. */
function toBody(item: SinkItem, options: Options): object | undefined {
  return item.payload === undefined ? alertOfEvent(item, options) : actOfPayload(item, options)
}

function alertOfEvent({ event }: SinkItem, { source, minSeverity: least }: Options): object | undefined {
  const message = toMessage(event)
  const warning = toOwnWarning(event)
  if (warning?.isOver === true) {
    if (!isAtLeast(warning.level, least)) return undefined
    return { event_action: 'resolve', dedup_key: fittingId(warning.incident, longestKey) }
  }
  if (!isAtLeast(message.severity, least)) return undefined
  return {
    event_action: 'trigger',
    dedup_key: fittingId(warning?.incident ?? event.id, longestKey),
    client: 'onchain-inbox',
    payload: {
      summary: cut(message.title, longestSummary),
      source,
      severity: message.severity,
      ...toTimestamp(event.created_at),
      ...(message.network !== null && { component: message.network }),
      class: event.type,
      custom_details: {
        ...Object.fromEntries(message.facts),
        ...(message.text !== undefined && { text: message.text }),
        event_id: event.id,
        ...(event.raw.length <= mostData && { data: event.data }),
      },
    },
    links: message.links.map(({ label, url }) => ({ href: url, text: label })),
  }
}

function actOfPayload({ payload, idempotencyKey, event }: SinkItem, { source }: Options): object {
  const members = readPayload(payload, ['action', 'summary', 'severity', 'details', 'dedupKey'], expected)
  const action = readChoice(members, 'action', ['trigger', 'acknowledge', 'resolve'], expected) ?? 'trigger'
  const dedupKey = readText(members, 'dedupKey', expected)
  if (action !== 'trigger') {
    if (dedupKey === undefined) throw new TerminalError(expected)
    return { event_action: action, dedup_key: fittingId(dedupKey, longestKey) }
  }
  const summary = readText(members, 'summary', expected)
  if (summary === undefined) throw new TerminalError(expected)
  const severity = readChoice(members, 'severity', ['info', 'warning', 'error', 'critical'], expected) ?? 'warning'
  return {
    event_action: action,
    dedup_key: fittingId(dedupKey ?? idempotencyKey, longestKey),
    client: 'onchain-inbox',
    payload: {
      summary: cut(summary, longestSummary),
      source,
      severity,
      class: event.type,
      custom_details: { event_id: event.id, details: members.get('details') },
    },
  }
}

/** None for a time that only RFC 3339 knows, such as a leap second. */
function toTimestamp(createdAt: string): object {
  const time = Date.parse(createdAt)
  return Number.isNaN(time) ? {} : { timestamp: new Date(time).toISOString() }
}
