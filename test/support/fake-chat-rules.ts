import type { AppRequest } from './app-server.ts'

/** Result of a request: the shown text, or the reason of a rejection. */
export type Verdict =
  | { readonly shown: string; readonly links: readonly string[]; readonly body: Json }
  | { readonly rejected: string }

export type Json = Readonly<Record<string, unknown>>

export interface Rules {
  readonly path: string
  read(body: Json): Verdict
  readonly success: { readonly status: number; readonly body: string }
  /** Response to a rejected message, in the service's format. */
  rejection(reason: string): string
  /** Response to a request above the rate limit. */
  tooMany(seconds: number): { readonly headers: Readonly<Record<string, string>>; readonly body: string }
}

export const botToken = '123456789:AAFakeTokenOfABotThatIsNone-_x'
export const routingKey = '0123456789abcdefghijklmnopqrstuv'
const explorerHosts =
  /^https:\/\/(?:etherscan\.io|bscscan\.com|polygonscan\.com|basescan\.org|snowtrace\.io|arbiscan\.io|solscan\.io)\/\w+\/\w+$/

const retryAfter = (seconds: number) => ({ 'Retry-After': String(Math.ceil(seconds)) })
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const lengthOf = (text: string): number => Array.from(text).length
const sign = (text: string): string => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[text] ?? '�'

/** Reads text in which links and escapes stand as `pattern` says: it has to leave nothing that `left` finds. */
function readMarkup(text: string, pattern: RegExp, left: RegExp): { shown: string; links: string[] } | undefined {
  const links: string[] = []
  const rest = text.replaceAll(pattern, '')
  if (left.test(rest)) return undefined
  const shown = text.replaceAll(pattern, (_all, url?: string, label?: string, escaped?: string) => {
    if (url === undefined) return sign(escaped ?? '')
    links.push(url)
    return label ?? ''
  })
  return links.every((url) => explorerHosts.test(url)) ? { shown, links } : undefined
}

export const slackRules: Rules = {
  path: '/services/T0FAKE/B0FAKE/TokenOfSlackThatIsNone',
  success: { status: 200, body: 'ok' },
  rejection: (reason) => reason,
  tooMany: (seconds) => ({ headers: retryAfter(seconds), body: 'rate_limited' }),
  read(body) {
    const { text, blocks } = body
    if (typeof text !== 'string' || text === '' || text.length > 40_000) return { rejected: 'no_text' }
    if (!Array.isArray(blocks) || blocks.length > 50) return { rejected: 'invalid_blocks' }
    const read = (blocks as readonly Json[]).map((block) => {
      const inner = block.text
      if (!isObject(inner) || inner.type !== 'mrkdwn' || inner.verbatim !== true) return undefined
      if (typeof inner.text !== 'string' || inner.text.trim() === '' || inner.text.length > 3_000) return undefined
      return readMarkup(inner.text, /<(https:[^|<>]*)\|([^|<>]*)>|&(amp|lt|gt);/g, /[<>&]/)
    })
    const sections = read.filter((section) => section !== undefined)
    if (sections.length < read.length) return { rejected: 'invalid_blocks' }
    return { shown: sections.map(({ shown }) => shown).join('\n'), links: sections.flatMap(({ links }) => links), body }
  },
}

export const discordRules: Rules = {
  path: '/api/webhooks/1234567890/TokenOfDiscordThatIsNone',
  success: { status: 200, body: '{"id":"1"}' },
  rejection: (reason) => JSON.stringify({ message: reason, code: 50_035 }),
  tooMany: (seconds) => ({
    headers: retryAfter(seconds),
    body: JSON.stringify({ message: 'You are being rate limited.', retry_after: seconds, global: false }),
  }),
  read(body) {
    const { content, allowed_mentions: mentions } = body
    if (typeof content !== 'string' || content.trim() === '') return { rejected: 'Cannot send an empty message' }
    if (lengthOf(content) > 2_000) return { rejected: 'Must be 2000 or fewer in length.' }
    if (!isObject(mentions) || !Array.isArray(mentions.parse) || mentions.parse.length > 0)
      return { rejected: 'everyone was called' }
    const links: string[] = []
    let shown = ''
    // Reads escapes first, then links; other markup is a mistake.
    for (const [all, escaped, label, url] of content.matchAll(
      /\\([^0-9A-Za-z\s])|\[([^\]\\[]*)\]\(<([^<>]*)>\)|[^]/gu,
    )) {
      if (url !== undefined) links.push(url)
      else if (escaped === undefined && /[\\*_~`|>[\]()<@#:]/.test(all)) return { rejected: `unescaped ${all}` }
      shown += escaped ?? label ?? all
    }
    if (!links.every((url) => explorerHosts.test(url))) return { rejected: 'a strange link' }
    return { shown, links, body }
  },
}

export const telegramRules: Rules = {
  path: `/bot${botToken}/sendMessage`,
  success: { status: 200, body: '{"ok":true,"result":{"message_id":1}}' },
  rejection: (reason) => JSON.stringify({ ok: false, error_code: 400, description: `Bad Request: ${reason}` }),
  tooMany: (seconds) => ({
    headers: {},
    body: JSON.stringify({
      ok: false,
      error_code: 429,
      description: `Too Many Requests: retry after ${seconds}`,
      parameters: { retry_after: seconds },
    }),
  }),
  read(body) {
    const { chat_id: chat, text, parse_mode: mode } = body
    if (typeof chat !== 'string' || chat === '') return { rejected: 'chat_id is empty' }
    if (typeof text !== 'string' || mode !== 'HTML') return { rejected: 'message text is empty' }
    const read = readMarkup(text, /<a href="([^"<>]*)">([^<>]*)<\/a>|&(amp|lt|gt|quot);/g, /[<>&]/)
    if (read === undefined) return { rejected: "can't parse entities" }
    if (read.shown.trim() === '') return { rejected: 'message text is empty' }
    if (read.shown.length > 4_096) return { rejected: 'message is too long' }
    if (read.links.length > 100) return { rejected: 'too many entities' }
    return { ...read, body }
  },
}

const severities: readonly unknown[] = ['info', 'warning', 'error', 'critical']
const actions: readonly unknown[] = ['trigger', 'acknowledge', 'resolve']

export const pagerdutyRules: Rules = {
  path: '/v2/enqueue',
  success: { status: 202, body: '{"status":"success","message":"Event processed","dedup_key":"x"}' },
  rejection: (reason) =>
    JSON.stringify({ status: 'invalid event', message: 'Event object is invalid', errors: [reason] }),
  tooMany: (seconds) => ({ headers: retryAfter(seconds), body: '{"status":"throttle exceeded"}' }),
  read(body) {
    const { routing_key: key, event_action: action, dedup_key: dedup, payload, links = [] } = body
    if (key !== routingKey) return { rejected: 'Invalid routing key' }
    if (!actions.includes(action)) return { rejected: "'event_action' is missing or is invalid" }
    if (typeof dedup !== 'string' || dedup === '' || lengthOf(dedup) > 255)
      return { rejected: "Length of 'dedup_key' is more than 255" }
    if (action !== 'trigger') return { shown: '', links: [], body }
    if (!isObject(payload)) return { rejected: "'payload' is missing or blank" }
    const { summary, source, severity, timestamp } = payload
    if (typeof summary !== 'string' || summary === '' || lengthOf(summary) > 1_024)
      return { rejected: "'payload.summary' is missing or blank" }
    if (typeof source !== 'string' || source === '') return { rejected: "'payload.source' is missing or blank" }
    if (!severities.includes(severity)) return { rejected: "'payload.severity' is invalid" }
    const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
    if (timestamp !== undefined && !(typeof timestamp === 'string' && isoTime.test(timestamp)))
      return { rejected: "'payload.timestamp' is not ISO 8601" }
    if (JSON.stringify(body).length > 512 * 1_024) return { rejected: 'payload too large' }
    return { shown: summary, links: (links as { href: string }[]).map(({ href }) => href), body }
  },
}

export function parseBody({ body, headers }: AppRequest): Json | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString())
    return headers['content-type'] === 'application/json' && isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
