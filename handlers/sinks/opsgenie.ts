import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { createIncidentSink, cut, incidentOptions, text } from './common/incident.ts'
import { shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'
import type { Severity } from 'onchain-inbox/format'

const options = z.strictObject({
  apiKey: z.string().regex(/^[\w-]{8,200}$/, { error: 'expected the key of an API integration' }),
  ...incidentOptions,
  /** Default: the team of the integration. */
  team: z.string().min(1).max(100).optional(),
  tags: z.array(z.string().min(1).max(50)).max(18).default([]),
})

type Options = z.output<typeof options>

/** Opens Opsgenie alerts. The id of an alert is its alias. */
export default {
  options,
  target: ({ region, team }) => `${shownOption(region)} ${shownOption(team)}`.trim(),
  example: "{ kind: 'opsgenie', apiKey: { env: 'OPSGENIE_KEY' } }",
  create,
} satisfies SinkKind<typeof options>

const regionUrls = { us: 'https://api.opsgenie.com', eu: 'https://api.eu.opsgenie.com' }
const maxMessageLength = 130
const maxDescriptionLength = 15_000
const maxTagLength = 50
/** Opsgenie accepts 8,000 characters of details. */
const maxDetails = 20
const maxDetailLength = 300
const priorities: Readonly<Record<Severity, string>> = { critical: 'P1', warning: 'P3', info: 'P5' }
const source = 'onchain-inbox'

const payload = z
  .strictObject({
    action: z.enum(['create', 'acknowledge', 'close']).default('create'),
    message: text.optional(),
    description: text.optional(),
    priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']).default('P3'),
    alias: text.optional(),
  })
  .refine(({ action, message, alias }) => (action === 'create' ? message : alias) !== undefined)

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const { apiKey, team, tags } = options
  const baseUrl = options.baseUrl ?? regionUrls[options.region]
  const request = (path: string, body: object) => ({
    url: `${baseUrl}/v2/alerts${path}`,
    headers: { Authorization: `GenieKey ${apiKey}` },
    body: { ...body, source },
  })
  const change = (id: string, action: string) =>
    request(`/${encodeURIComponent(id)}/${action}?identifierType=alias`, {})
  const responders = team === undefined ? {} : { responders: [{ type: 'team', name: team }] }
  return createIncidentSink({
    service: 'Opsgenie',
    secret: apiKey,
    maxIdLength: 512,
    payload,
    minSeverity: options.minSeverity,
    rule: "the sink takes { message, description, priority } to open an alert, or { action: 'acknowledge' | 'close', alias } for one that is open",
    open({ title, severity, network, facts, text: more, links }, alias, event) {
      const lines = [
        title,
        ...(more === undefined ? [] : [more]),
        ...facts.map(([label, value]) => `${label}: ${value}`),
        ...links.map(({ label, url }) => `${label}: ${url}`),
        `created at: ${event.created_at}`,
      ]
      const details = [...facts, ['event id', event.uid], ['event type', event.type]].slice(0, maxDetails)
      return request('', {
        message: cut(title, maxMessageLength),
        alias,
        description: cut(lines.join('\n'), maxDescriptionLength),
        details: Object.fromEntries(details.map(([label = '', value = '']) => [label, cut(value, maxDetailLength)])),
        priority: priorities[severity],
        tags: [...tags, cut(event.type, maxTagLength), ...(network === null ? [] : [network])],
        ...responders,
      })
    },
    close: (id) => change(id, 'close'),
    handle({ action, message = '', description, priority, alias }, toId) {
      if (action !== 'create') return change(toId(alias), action)
      return request('', {
        message: cut(message, maxMessageLength),
        alias: toId(alias),
        ...(description !== undefined && { description: cut(description, maxDescriptionLength) }),
        priority,
        tags,
        ...responders,
      })
    },
  })
}
