import { createHash } from 'node:crypto'
import { InboxError } from '../base/errors.ts'

/** Literal text or a placeholder. `name`: the text, a header in lower case, or the name of an item. */
type Part =
  | { readonly kind: 'text' | 'header' | 'item'; readonly name: string }
  | { readonly kind: 'body' | 'bodyDigest' | 'targetBodyDigest' | 'timestamp' | 'signedHeaders' }

/** The signed bytes, with placeholders. */
export interface Template {
  readonly parts: readonly Part[]
}

/** A piece of the signed bytes. */
export type Piece = string | Uint8Array

/** Values of one delivery; undefined if missing. */
export interface TemplateValues {
  readonly raw: Uint8Array
  /** Path and query of the request. */
  readonly target: string | undefined
  /** The timestamp as text. */
  readonly timestamp: string | undefined
  readonly header: (name: string) => string | undefined
  /** The item `name=…` of the signature header. */
  readonly item: (name: string) => string | undefined
}

const words = ['body', 'bodyDigest', 'targetBodyDigest', 'timestamp', 'signedHeaders'] as const
const coveringBody: readonly Part['kind'][] = ['body', 'bodyDigest', 'targetBodyDigest']
/** Matches a placeholder, or a single brace, which is an error. */
const tokens = /\{([^{}]*)\}|[{}]/g
const namePattern = /^(header|item)\.([a-z0-9][a-z0-9-]*)$/

/**
 * Parses the template of the signed bytes.
 *
 * - `{body}`: the raw body.
 * - `{bodyDigest}`: SHA-256 of the body as lower-case hex, computed here and never taken from a header.
 * - `{targetBodyDigest}`: the same of path, query and body together.
 * - `{timestamp}`: the timestamp as received.
 * - `{header.<name>}`: a header.
 * - `{item.<name>}`: the item `<name>=…` of the signature header.
 * - `{signedHeaders}`: values of the headers listed in `{item.h}`, joined with dots.
 *
 * @throws InboxError `config_invalid` for an unknown placeholder, a single brace, or a template that doesn't cover the body
 */
export function parseTemplate(text: string): Template {
  const parts: Part[] = []
  let end = 0
  for (const match of text.matchAll(tokens)) {
    const [token, inside] = match
    if (match.index > end) parts.push({ kind: 'text', name: text.slice(end, match.index) })
    end = match.index + token.length
    parts.push(parsePlaceholder(inside, token))
  }
  if (end < text.length) parts.push({ kind: 'text', name: text.slice(end) })
  if (!parts.some(({ kind }) => coveringBody.includes(kind))) {
    throw new InboxError('config_invalid', 'must contain {body} or {bodyDigest}')
  }
  return { parts }
}

function parsePlaceholder(inside: string | undefined, token: string): Part {
  const word = words.find((known) => known === inside)
  if (word !== undefined) return { kind: word }
  const [, kind, name] = namePattern.exec(inside ?? '') ?? []
  if (name !== undefined) return { kind: kind === 'header' ? 'header' : 'item', name }
  throw new InboxError(
    'config_invalid',
    `must not contain ${token}: expected {body}, {bodyDigest}, {timestamp} or {header.<name>} in lower case`,
  )
}

export interface Rendered {
  /** The signed bytes in pieces, so that the body is not copied. */
  readonly pieces: readonly Piece[]
  /** Headers among them, in lower case. */
  readonly covered: readonly string[]
}

/** Fills in a template; null if a value is missing. */
export function render({ parts }: Template, values: TemplateValues): Rendered | null {
  const pieces: Piece[] = []
  const covered: string[] = []
  for (const part of parts) {
    if (part.kind === 'header') covered.push(part.name)
    if (part.kind === 'signedHeaders') covered.push(...namesOf(values))
    const piece = pieceOf(part, values)
    if (piece === undefined) return null
    pieces.push(piece)
  }
  return { pieces, covered }
}

function pieceOf(part: Part, values: TemplateValues): Piece | undefined {
  switch (part.kind) {
    case 'text':
      return part.name
    case 'body':
      return values.raw
    case 'bodyDigest':
      return createHash('sha256').update(values.raw).digest('hex')
    case 'targetBodyDigest':
      return values.target && createHash('sha256').update(values.target).update(values.raw).digest('hex')
    case 'timestamp':
      return values.timestamp
    case 'header':
      return values.header(part.name)
    case 'item':
      return values.item(part.name)
    case 'signedHeaders': {
      const headers = namesOf(values).map((name) => values.header(name))
      return headers.includes(undefined) ? undefined : headers.join('.')
    }
  }
}

function namesOf({ item }: TemplateValues): readonly string[] {
  return (item('h') ?? '').toLowerCase().split(' ').filter(Boolean)
}
