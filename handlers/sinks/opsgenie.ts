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
import { toMessage, toOwnWarning, type Severity } from './common/message.ts'
import { hider, postJson } from './common/http.ts'

/** Events become alerts of Opsgenie. */
const options = z
  .strictObject({
    apiKey: z.string().regex(/^[\w-]{8,200}$/, { error: 'expected the key of an API integration' }),
    minSeverity,
    /** Who is told; default: whom the integration names. */
    team: z.string().min(1).max(100).optional(),
    tags: z.array(z.string().min(1).max(50)).max(18).default([]),
    region,
    /** Default: that of the region. */
    baseUrl: secretBaseUrl.optional(),
  })
  .transform(({ region: where, baseUrl, ...rest }) => ({
    ...rest,
    baseUrl: baseUrl ?? `https://api.${where === 'eu' ? 'eu.' : ''}opsgenie.com`,
  }))

type Options = z.output<typeof options>

export default {
  options,
  target: ({ region, team }) => `${place(region)} ${place(team)}`.trim(),
  examples: { apiKey: ['the key of an integration, as text', "{ env: 'OPSGENIE_KEY' }"] },
  create,
} satisfies SinkKind<typeof options>

interface Act {
  /** Behind `/v2/alerts`. */
  readonly path: string
  readonly body: object
}

const longestMessage = 130
const longestDescription = 15_000
const longestAlias = 512
const longestTag = 50
/** All details together may have 8,000 characters. */
const mostDetails = 20
const longestDetail = 300
const priorities: Readonly<Record<Severity, string>> = { critical: 'P1', warning: 'P3', info: 'P5' }
const expected =
  "the sink takes { message, description, priority } to open an alert, or { action: 'acknowledge' | 'close', alias } for one that is open"

/**
 * Opens an alert at Opsgenie for each event from `minSeverity` on, once: its alias is the event's id. That of a warning of the inbox
 * itself is closed when the warning is over.
 */
function create({ name, options }: SinkSetup<Options>): Readonly<SinkDefinition> {
  const { apiKey, baseUrl } = options
  const hide = hider([apiKey])
  return {
    name,
    concurrency: 2,
    timeoutMs: 30_000,
    retry: { attempts: 60, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send([item], ctx) {
      const act = item && toAct(item, options)
      if (act === undefined) return
      const answer = await postJson({
        url: `${baseUrl}/v2/alerts${act.path}`,
        headers: { Authorization: `GenieKey ${apiKey}` },
        body: act.body,
        signal: ctx.signal,
        who: 'Opsgenie',
        hide,
      })
      expectSuccess(answer, 'Opsgenie', ctx)
    },
  }
}

/** Undefined: nothing is to be opened. */
function toAct(item: SinkItem, options: Options): Act | undefined {
  return item.payload === undefined ? alertOfEvent(item, options) : actOfPayload(item, options)
}

function alertOfEvent({ event }: SinkItem, { minSeverity: least, team, tags }: Options): Act | undefined {
  const message = toMessage(event)
  const warning = toOwnWarning(event)
  const alias = fittingId(warning?.incident ?? event.id, longestAlias)
  if (warning?.isOver === true) {
    if (!isAtLeast(warning.level, least)) return undefined
    return { path: `/${encodeURIComponent(alias)}/close?identifierType=alias`, body: { source: 'onchain-inbox' } }
  }
  if (!isAtLeast(message.severity, least)) return undefined
  const links = message.links.map(({ label, url }) => `${label}: ${url}`)
  const facts = message.facts.map(([label, value]) => `${label}: ${value}`)
  const details = [...message.facts, ['event id', event.id], ['event type', event.type]]
  const body = {
    message: cut(message.title, longestMessage),
    alias,
    description: cut(
      [
        message.title,
        ...(message.text === undefined ? [] : [message.text]),
        ...facts,
        ...links,
        `created at: ${event.created_at}`,
      ].join('\n'),
      longestDescription,
    ),
    details: Object.fromEntries(
      details.slice(0, mostDetails).map(([label = '', value = '']) => [label, cut(value, longestDetail)]),
    ),
    priority: priorities[message.severity],
    source: 'onchain-inbox',
    tags: [...tags, cut(event.type, longestTag), ...(message.network === null ? [] : [message.network])],
    ...toTeam(team),
  }
  return { path: '', body }
}

function actOfPayload({ payload, idempotencyKey }: SinkItem, { team, tags }: Options): Act {
  const members = readPayload(payload, ['action', 'message', 'description', 'priority', 'alias'], expected)
  const action = readChoice(members, 'action', ['create', 'acknowledge', 'close'], expected) ?? 'create'
  const alias = readText(members, 'alias', expected)
  const description = readText(members, 'description', expected)
  if (action !== 'create') {
    if (alias === undefined) throw new TerminalError(expected)
    const path = `/${encodeURIComponent(fittingId(alias, longestAlias))}/${action}?identifierType=alias`
    return { path, body: { source: 'onchain-inbox' } }
  }
  const message = readText(members, 'message', expected)
  if (message === undefined) throw new TerminalError(expected)
  const body = {
    message: cut(message, longestMessage),
    alias: fittingId(alias ?? idempotencyKey, longestAlias),
    ...(description !== undefined && { description: cut(description, longestDescription) }),
    priority: readChoice(members, 'priority', ['P1', 'P2', 'P3', 'P4', 'P5'], expected) ?? 'P3',
    source: 'onchain-inbox',
    tags,
    ...toTeam(team),
  }
  return { path: '', body }
}

function toTeam(team: string | undefined): object {
  return team === undefined ? {} : { responders: [{ type: 'team', name: team }] }
}
