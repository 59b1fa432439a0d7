import { defineSink, TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import type { PagerdutyOptions } from '../../src/config/sinks/pagerduty.ts'
import type { SinkSetup } from '../../src/dispatch/bundled-sinks.ts'
import { cut, expectSuccess, fittingId, isAtLeast, readChoice, readPayload, readText } from './common/incident.ts'
import { toMessage } from './common/message.ts'
import { toOwnWarning } from './common/own-message.ts'
import { hider, postJson } from './common/post.ts'

type Options = SinkSetup<PagerdutyOptions>['options']

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
export default function createPagerduty({ name, options }: SinkSetup<PagerdutyOptions>): Readonly<SinkDefinition> {
  const hide = hider([options.routingKey])
  return defineSink({
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
  })
}

/** Undefined: nothing is to be opened. */
function toBody(item: SinkItem, options: Options): object | undefined {
  return item.payload === undefined ? alertOfEvent(item, options) : actOfPayload(item, options)
}

function alertOfEvent({ event }: SinkItem, { source, minSeverity }: Options): object | undefined {
  const message = toMessage(event)
  const warning = toOwnWarning(event)
  if (warning?.isOver === true) {
    if (!isAtLeast(warning.level, minSeverity)) return undefined
    return { event_action: 'resolve', dedup_key: fittingId(warning.incident, longestKey) }
  }
  if (!isAtLeast(message.severity, minSeverity)) return undefined
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
