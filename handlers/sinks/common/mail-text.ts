import { TerminalError, type SinkItem } from 'onchain-inbox'
import { formatText } from 'onchain-inbox/format'
import { toMessage, type Message, type Severity } from './message.ts'

export interface MailText {
  /** On one line. */
  readonly subject: string
  readonly text: string
  /** Idempotency keys of what handlers enqueued and no mail can say: it says so instead. */
  readonly unusable: readonly string[]
}

type Placeholder = 'title' | 'type' | 'network' | 'severity' | 'id'
type Words = Readonly<Record<Placeholder, string>>

interface Part {
  readonly words: Words
  /** What takes the place of the template. */
  readonly subject: string | undefined
  readonly text: string
}

const expected = 'a mail expects { text: string, subject?: string } as what is enqueued; it got something else'
const severities: readonly Severity[] = ['info', 'warning', 'critical']
const longestSubject = 200

/**
 * What a mail about these items says: of one, or a digest of several. Throws TerminalError if there is nothing among them but what was
 * enqueued and is no mail: beside others it is told in their mail, so that it takes none of them to the dead letters.
 */
export function toMailText(items: readonly SinkItem[], subjectTemplate: string): MailText {
  const parts = items.map(toPart)
  const unusable = items.filter(isUnusable).map(({ idempotencyKey }) => idempotencyKey)
  if (unusable.length > 0 && unusable.length === items.length) throw new TerminalError(expected)
  const [first] = parts
  if (first !== undefined && parts.length === 1) {
    const subject = oneLine(first.subject ?? fill(subjectTemplate, first.words))
    return { subject, text: first.text, unusable }
  }
  const text = parts.map((part) => (part.subject === undefined ? part.text : `${part.subject}\n\n${part.text}`))
  const subject = oneLine(fill(subjectTemplate, wordsOfAll(parts)))
  return { subject, text: text.join(`\n${'-'.repeat(60)}\n\n`), unusable }
}

function toPart(item: SinkItem): Part {
  const message = toMessage(item.event)
  const words = {
    title: message.title,
    type: message.type,
    network: message.network ?? '?',
    severity: message.severity,
    id: message.eventId,
  }
  if (item.payload === undefined) return { words, subject: undefined, text: textOf(message) }
  if (isUnusable(item)) return { words, subject: undefined, text: `${expected} (event ${oneLine(item.event.id)})\n` }
  const { text, subject } = membersOf(item) as { readonly text: string; readonly subject?: string }
  return { words, subject: subject === undefined ? undefined : oneLine(subject), text: `${text}\n` }
}

function isUnusable(item: SinkItem): boolean {
  const { text, subject } = membersOf(item)
  const isMail = typeof text === 'string' && (subject === undefined || typeof subject === 'string')
  return item.payload !== undefined && !isMail
}

function membersOf({ payload }: SinkItem): Readonly<Record<string, unknown>> {
  return Object(payload) as Record<string, unknown>
}

function textOf({ title, facts, links, type, network, time, eventId, text }: Message): string {
  const lines = [
    title,
    '',
    ...(text === undefined ? [] : [text, '']),
    ...facts.map(([label, value]) => `${label}: ${value}`),
    ...links.map(({ label, url }) => `${label}: ${url}`),
    '',
    ...[`type: ${type}`, `network: ${network ?? '?'}`, `created: ${time}`, `event: ${eventId}`].map(oneLine),
  ]
  return `${lines.join('\n')}\n`
}

function wordsOfAll(parts: readonly Part[]): Words {
  const common = (name: Placeholder) => {
    const different = new Set(parts.map(({ words }) => words[name]))
    const [only = '?'] = different
    return different.size === 1 ? only : 'several'
  }
  const worst = severities.findLast((severity) => parts.some(({ words }) => words.severity === severity)) ?? 'info'
  return {
    title: `${parts.length} events`,
    type: common('type'),
    network: common('network'),
    severity: worst,
    id: common('id'),
  }
}

function fill(template: string, words: Words): string {
  return template.replaceAll(/\{(title|type|network|severity|id)\}/g, (_all, name: Placeholder) => words[name])
}

function oneLine(text: string): string {
  return formatText(text, longestSubject).toWellFormed()
}
