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
  /** True if path and query are among them. */
  readonly coversTarget: boolean
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
  return { pieces, covered, coversTarget: parts.some(({ kind }) => kind === 'targetBodyDigest') }
}

/** The parts from an end of the template to a header and the part behind it, so that the body is on the other side. */
function partsUpTo(
  header: string,
  { parts }: Template,
): { readonly upTo: readonly Part[]; readonly isBefore: boolean } {
  const index = parts.findIndex((part) => part.kind === 'header' && part.name === header)
  const body = parts.findIndex(({ kind }) => kind === 'body')
  const isBefore = body < 0 || index < body
  return { isBefore, upTo: isBefore ? parts.slice(0, index + 2) : parts.slice(Math.max(0, index - 1)).toReversed() }
}

const hasFixedLength = ({ kind }: Part) => kind === 'text' || kind === 'bodyDigest' || kind === 'targetBodyDigest'

/** True if a header is in the template, and text separates the values up to it. */
export function isSeparated(header: string, template: Template): boolean {
  const { upTo } = partsUpTo(header, template)
  return (
    template.parts.some((part) => part.kind === 'header' && part.name === header) &&
    upTo.every((part, index) => {
      const next = upTo[index + 1]
      return hasFixedLength(part) || (part.kind !== 'body' && (next === undefined || next.kind === 'text'))
    })
  )
}

/**
 * True if other values of a header may have the same signed bytes: a value up to it contains the text that separates it from the
 * next one. A header that is the only free value on its side of the body can't have other values: timestamps are digits, and a
 * body ends with its brackets. For headers that are separated.
 */
export function isAmbiguous(header: string, template: Template, values: TemplateValues, hasDates: boolean): boolean {
  const { upTo, isBefore } = partsUpTo(header, template)
  const body = template.parts.findIndex(({ kind }) => kind === 'body')
  const side = body < 0 ? template.parts : isBefore ? template.parts.slice(0, body) : template.parts.slice(body + 1)
  const free = side.filter((part) => !hasFixedLength(part) && (hasDates || part.kind !== 'timestamp'))
  if (free.length === 1) return false
  return upTo.some((part, index) => {
    const next = upTo[index + 1]
    if (hasFixedLength(part) || next?.kind !== 'text') return false
    const value = String(pieceOf(part, values) ?? '')
    const { name: end } = next
    return isBefore ? `${value}${end}`.indexOf(end) < value.length : `${end}${value}`.lastIndexOf(end) > 0
  })
}

/** True if a value next to the body could take in bytes of it, or give it some, in the same signed bytes. */
export function isBodyLoose({ parts }: Template, hasDates: boolean): boolean {
  if (parts.some(({ kind }) => kind === 'targetBodyDigest')) return true
  const body = parts.findIndex(({ kind }) => kind === 'body')
  return (
    body >= 0 &&
    parts.some(({ kind }, index) => {
      if (kind === 'timestamp') return hasDates || Math.abs(index - body) === 1
      return kind === 'header' || kind === 'item' || kind === 'signedHeaders'
    })
  )
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
      return toBytes(values.timestamp)
    case 'header':
      return toBytes(values.header(part.name))
    case 'item':
      return toBytes(values.item(part.name))
    case 'signedHeaders': {
      const names = namesOf(values)
      const headers = names.map((name) => values.header(name))
      return names.length === 0 || headers.includes(undefined) ? undefined : toBytes(headers.join('.'))
    }
  }
}

/** Node decodes each byte of a header as a character. */
function toBytes(text: string | undefined): Piece | undefined {
  return text === undefined || /^\p{ASCII}*$/u.test(text) ? text : Buffer.from(text, 'latin1')
}

/** Names in lower case; none if the list is malformed. With a dot in a name, a part of a value could move into it. */
function namesOf({ item }: TemplateValues): readonly string[] {
  const list = item('h') ?? ''
  return /^[\w-]+(?: [\w-]+)*$/.test(list) ? list.toLowerCase().split(' ') : []
}
