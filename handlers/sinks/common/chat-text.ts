import type { SinkItem } from 'onchain-inbox'
import { formatText, formatTime } from 'onchain-inbox/format'
import type { Templates } from './template.ts'
import { toMessage, type Message, type Severity } from './message.ts'
import { foreign, joined, own, type Piece } from './piece.ts'
import { fillTemplate, templateFor } from './template.ts'

const marks: Readonly<Record<Severity, string>> = { info: '🔹', warning: '🟡', critical: '🔴' }

/** What a chat gets to see of an item; undefined if it is nothing that can be shown. */
export function toPieces({ payload, event }: SinkItem, templates: Templates = {}): Piece[] | undefined {
  if (payload !== undefined) return piecesOfPayload(payload)
  const message = toMessage(event)
  const template = templateFor(templates, event.type)
  return template === undefined ? piecesOfMessage(message) : fillTemplate(template, event, message)
}

/** What happened; and below where, when, what else there is to say, and where to look. */
function piecesOfMessage({ title, facts, links, network, severity, time, type, text }: Message): Piece[] {
  const isOwn = type.startsWith('inbox.')
  const linked = new Set(links.map(({ label }) => label))
  return [
    own(`${marks[severity]} `),
    foreign(title),
    own('\n'),
    ...(text === undefined ? [] : [foreign(text), own('\n')]),
    ...joined([
      ...(isOwn ? [] : [[foreign(network ?? '?')]]),
      [own(`${formatTime(time)} UTC`)],
      ...facts.filter(([label]) => !linked.has(label)).map(([label, value]) => [foreign(`${label} ${value}`)]),
      ...links.map(({ label, url }) => [{ text: label, url }]),
    ]),
  ]
}

/** `{ text }`: its lines are kept, all else that could disturb a reader is escaped. */
function piecesOfPayload(payload: unknown): Piece[] | undefined {
  if (typeof payload !== 'object' || payload === null || !('text' in payload)) return undefined
  const { text } = payload
  if (typeof text !== 'string' || text.trim() === '') return undefined
  const lines = text.split(/\r?\n/).map((line) => (line === '' ? '' : formatText(line, Infinity)))
  return [own(lines.join('\n').toWellFormed())]
}
