import { z } from 'zod'

export const templateFilters = ['usd', 'amount', 'percent', 'address', 'time'] as const
export type TemplateFilter = (typeof templateFilters)[number]

/** What a template can say beside the members of the envelope: see `Message` of handlers/sinks/common. */
export const messageWords = ['title', 'facts', 'links', 'network', 'severity'] as const
export type MessageWord = (typeof messageWords)[number]

/** Text as it stands, or a place where something of the event goes. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'word'; readonly word: MessageWord }
  | { readonly kind: 'value'; readonly path: string; readonly filter: TemplateFilter | null }

/** A parsed template: plain data, so that it can go to another thread. */
export type Template = readonly TemplatePart[]
/** By event type, `prefix.*` or `*`. */
export type Templates = Readonly<Record<string, Template>>

const longestTemplate = 4_000
/** A doubled brace, a placeholder, or a brace that is neither; all else is text. */
const tokens = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g
const envelopePath = /^(?:id|type|created_at|data(?:\.[\w-]+)+)$/
const typePattern = /^(?:\*|[^\s*]+\.\*|[^\s*]+)$/

/**
 * Parses `'{data.token_symbol}: {data.amount_usd|usd}'`; `{{` and `}}` stand for braces. The result, or text that says what
 * was expected.
 */
export function parseTemplate(text: string): Template | string {
  if (text.length > longestTemplate) return `expected at most ${longestTemplate} characters`
  const parts: TemplatePart[] = []
  let end = 0
  for (const match of text.matchAll(tokens)) {
    const [token, inside] = match
    parts.push({ kind: 'text', text: text.slice(end, match.index) })
    end = match.index + token.length
    if (token === '{{' || token === '}}') parts.push({ kind: 'text', text: token.slice(1) })
    else if (inside === undefined) return `expected a brace to be part of {…}, or to be doubled, at character ${end}`
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
  const [name = '', filter, ...rest] = inside.split('|').map((word) => word.trim())
  const word = messageWords.find((known) => known === name)
  if (word !== undefined && filter === undefined) return { kind: 'word', word }
  const known = templateFilters.find((one) => one === filter) ?? null
  if (word !== undefined || rest.length > 0 || (filter !== undefined && known === null))
    return `{${inside}}: expected one filter at most, behind a path, of ${templateFilters.join(', ')}`
  if (!envelopePath.test(name))
    return `{${inside}}: expected id, type, created_at, data.<field>, ${messageWords.join(', ')}`
  return { kind: 'value', path: name, filter: known }
}

const template = z.string().transform((text, context): Template => {
  const parsed = parseTemplate(text)
  if (typeof parsed !== 'string') return parsed
  context.addIssue({ code: 'custom', message: parsed })
  return z.NEVER
})

/** The option `templates` of sinks that write to people. */
export const templates = z.record(
  z.string().regex(typePattern, { error: "expected an event type, a prefix such as 'wallet.*', or '*'" }),
  template,
)
