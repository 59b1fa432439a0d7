import { TerminalError, type SinkItem } from 'onchain-inbox'
import { formatText } from 'onchain-inbox/format'
import { toMessage, type Message, type Severity } from './message.ts'

export interface MailText {
  /** On one line. */
  readonly subject: string
  readonly text: string
}

type Placeholder = 'title' | 'type' | 'network' | 'severity' | 'id'
type Words = Readonly<Record<Placeholder, string>>

interface Part {
  readonly words: Words
  /** What takes the place of the template. */
  readonly subject: string | undefined
  readonly text: string
}

const severities: readonly Severity[] = ['info', 'warning', 'critical']
const longestSubject = 200

/** What a mail about these items says: of one, or a digest of several. Throws TerminalError if something was enqueued that is no mail. */
export function toMailText(items: readonly SinkItem[], subjectTemplate: string): MailText {
  const parts = items.map(toPart)
  const [first] = parts
  if (first !== undefined && parts.length === 1) {
    return { subject: oneLine(first.subject ?? fill(subjectTemplate, first.words)), text: first.text }
  }
  const text = parts.map((part) => (part.subject === undefined ? part.text : `${part.subject}\n\n${part.text}`))
  return { subject: oneLine(fill(subjectTemplate, wordsOfAll(parts))), text: text.join(`\n${'-'.repeat(60)}\n\n`) }
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
  return { words, ...toEnqueued(item.payload) }
}

function toEnqueued(payload: unknown): Pick<Part, 'subject' | 'text'> {
  const { text, subject } = Object(payload) as Record<string, unknown>
  if (typeof text !== 'string' || (subject !== undefined && typeof subject !== 'string')) {
    throw new TerminalError(
      'a mail expects { text: string, subject?: string } as what is enqueued; it got something else',
    )
  }
  return { subject: subject === undefined ? undefined : oneLine(subject), text: `${text}\n` }
}

function textOf({ title, facts, links, type, network, time, eventId }: Message): string {
  const lines = [
    title,
    '',
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
