import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { createIncidentSink, cut, incidentOptions, text } from './common/incident.ts'
import { shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'

const options = z.strictObject({
  routingKey: z.string().regex(/^[A-Za-z0-9]{32}$/, { error: 'expected the 32 characters of an integration key' }),
  ...incidentOptions,
  /** Source of the alerts. */
  source: z.string().min(1).max(255).default('onchain-inbox'),
})

type Options = z.output<typeof options>

/** Opens PagerDuty alerts by the Events API v2. The id of an alert is its `dedup_key`. */
export default {
  options,
  target: ({ region }) => shownOption(region),
  example: "{ kind: 'pagerduty', routingKey: { env: 'PAGERDUTY_KEY' } }",
  create,
} satisfies SinkKind<typeof options>

const regionUrls = { us: 'https://events.pagerduty.com', eu: 'https://events.eu.pagerduty.com' }
const maxSummaryLength = 1_024
/** PagerDuty accepts half a megabyte per request. */
const maxDataBytes = 100_000

const payload = z
  .strictObject({
    action: z.enum(['trigger', 'acknowledge', 'resolve']).default('trigger'),
    summary: text.optional(),
    severity: z.enum(['info', 'warning', 'error', 'critical']).default('warning'),
    details: z.unknown().optional(),
    dedupKey: text.optional(),
  })
  .refine(({ action, summary, dedupKey }) => (action === 'trigger' ? summary : dedupKey) !== undefined)

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const { routingKey, source } = options
  const baseUrl = options.baseUrl ?? regionUrls[options.region]
  const request = (action: string, id: string, alert: object = {}) => ({
    url: `${baseUrl}/v2/enqueue`,
    body: { routing_key: routingKey, event_action: action, dedup_key: id, ...alert },
  })
  const trigger = (id: string, summary: string, details: object, links: readonly object[] = []) =>
    request('trigger', id, {
      client: 'onchain-inbox',
      payload: { summary: cut(summary, maxSummaryLength), source, ...details },
      links,
    })
  return createIncidentSink({
    service: 'PagerDuty',
    secret: routingKey,
    maxIdLength: 255,
    payload,
    minSeverity: options.minSeverity,
    rate: 2,
    rule: "the sink takes { summary, severity, details } to open an alert, or { action: 'acknowledge' | 'resolve', dedupKey } for one that is open",
    open({ title, severity, network, facts, text: more, links }, id, event) {
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
      return trigger(
        id,
        title,
        details,
        links.map(({ label, url }) => ({ href: url, text: label })),
      )
    },
    close: (id) => request('resolve', id),
    handle({ action, summary = '', severity, details, dedupKey }, toId, event) {
      if (action !== 'trigger') return request(action, toId(dedupKey))
      const custom_details = { event_id: event.uid, details }
      return trigger(toId(dedupKey), summary, { severity, class: event.type, custom_details })
    },
  })
}

/** Omitted if JavaScript can't parse the time, such as a leap second. */
function toTimestamp(createdAt: string): object {
  const time = Date.parse(createdAt)
  return Number.isNaN(time) ? {} : { timestamp: new Date(time).toISOString() }
}
