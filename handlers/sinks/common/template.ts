import type { SinkItem } from 'onchain-inbox'
import { formatAmount, formatPercent, formatText, formatTime, formatUsd, shortAddress } from 'onchain-inbox/format'
import { z } from 'zod'
import { memberAt } from './kind.ts'
import type { Message } from './message.ts'
import { external, joined, plain, type Piece } from './chat-text.ts'

type Event = SinkItem['event']

const maxTextLength = 1_000
/** Maximum items shown of an array. */
const maxListed = 20

const filters: Readonly<Record<string, (value: unknown) => string>> = {
  usd: (value) => formatUsd(value),
  amount: (value) => formatAmount(value, 9),
  percent: (value) => formatPercent(value),
  address: shortAddress,
  time: formatTime,
}

/** Values of placeholders without a path, such as `{title}`. */
const placeholders: Readonly<Record<string, (message: Message) => Piece[]>> = {
  title: ({ title }) => [external(title)],
  facts: ({ facts }) => joined(facts.map(([label, value]) => [external(`${label} ${value}`)])),
  links: ({ links }) => joined(links.map(({ label, url }) => [{ text: label, url }])),
  network: ({ network }) => [external(network ?? '?')],
  severity: ({ severity }) => [plain(severity)],
}

/** Literal text or a placeholder. `path`: a path in the event, or one of `placeholders`. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: string; readonly filter: string | null }

/** A parsed template. Plain data, because it is sent between threads. */
export type Template = readonly TemplatePart[]
/** Templates by event type, `prefix.*` or `*`. */
export type Templates = Readonly<Record<string, Template>>

const maxTemplateLength = 4_000
/** Matches a doubled brace, a placeholder, or a single brace (an error). */
const tokens = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g
const envelopePath = /^(?:id|type|created_at|data(?:\.[\w-]+)+)$/
const typePattern = /^(?:\*|[^\s*]+\.\*|[^\s*]+)$/

/** Parses `'{data.token_symbol}: {data.amount_usd|usd}'`; `{{` and `}}` are literal braces. Returns an error message if invalid. */
export function parseTemplate(text: string): Template | string {
  if (text.length > maxTemplateLength) return `expected at most ${maxTemplateLength} characters`
  const parts: TemplatePart[] = []
  let end = 0
  for (const match of text.matchAll(tokens)) {
    const [token, inside] = match
    parts.push({ kind: 'text', text: text.slice(end, match.index) })
    end = match.index + token.length
    if (token === '{{' || token === '}}') parts.push({ kind: 'text', text: token.slice(1) })
    else if (inside === undefined) return `expected a placeholder or a doubled brace at character ${end}`
    else {
      const part = parsePlaceholder(inside)
      if (typeof part === 'string') return part
      parts.push(part)
    }
  }
  parts.push({ kind: 'text', text: text.slice(end) })
  return parts.filter((part) => part.kind !== 'text' || part.text !== '')
}

function parsePlaceholder(inside: string): TemplatePart | string {
  const [path = '', filter = null, ...rest] = inside.split('|').map((word) => word.trim())
  const isPlaceholder = Object.hasOwn(placeholders, path)
  if (!isPlaceholder && !envelopePath.test(path))
    return `{${inside}}: expected id, type, created_at, data.<field>, ${Object.keys(placeholders).join(', ')}`
  if (rest.length > 0 || (filter !== null && (isPlaceholder || !Object.hasOwn(filters, filter))))
    return `{${inside}}: expected at most one filter, after a path: ${Object.keys(filters).join(', ')}`
  return { kind: 'value', path, filter }
}

const template = z.string().transform((text, context): Template => {
  const parsed = parseTemplate(text)
  if (typeof parsed !== 'string') return parsed
  context.addIssue({ code: 'custom', message: parsed })
  return z.NEVER
})

/** Schema of the option `templates` of chat sinks. */
export const templates = z.record(
  z.string().regex(typePattern, { error: "expected an event type, a prefix such as 'wallet.*', or '*'" }),
  template,
)

/** The template for an event type: that of the exact type, else of the longest prefix, else of `*`; undefined: none. */
export function templateFor(templates: Templates, type: string): Template | undefined {
  if (Object.hasOwn(templates, type)) return templates[type]
  const prefixes = Object.keys(templates).filter((name) => name.endsWith('.*') && type.startsWith(name.slice(0, -1)))
  const [longest] = prefixes.toSorted((a, b) => b.length - a.length)
  return templates[longest ?? '*']
}

/** Fills in a template. A missing value is shown as `?`. */
export function fillTemplate(template: Template, event: Event, message: Message): Piece[] {
  return template.flatMap((part) => {
    if (part.kind === 'text') return [plain(part.text)]
    return placeholders[part.path]?.(message) ?? [external(valueOf(event, part.path, part.filter).toWellFormed())]
  })
}

function valueOf(event: Event, path: string, filter: string | null): string {
  const value = memberAt(event, path.split('.'))
  const format = filter === null ? undefined : filters[filter]
  if (format !== undefined) return format(value)
  // Keeps every digit that the sender wrote.
  if (typeof value === 'number') return formatText(event.exact(path) ?? String(value), maxTextLength)
  if (Array.isArray(value)) return value.slice(0, maxListed).map(scalar).join(', ') || 'none'
  return scalar(value)
}

function scalar(value: unknown): string {
  return formatText(typeof value === 'number' || typeof value === 'boolean' ? String(value) : value, maxTextLength)
}
