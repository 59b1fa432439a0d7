import type { AnyEvent } from 'onchain-inbox'
import { formatText } from 'onchain-inbox/format'
import type { Message, Severity } from './message.ts'

/** What a warning of the inbox itself has beside other events. */
export interface OwnWarning {
  /** The same for all events of one warning. */
  readonly incident: string
  readonly isOver: boolean
  /** Of the warning, also when it is over. */
  readonly level: Severity
}

const longestTitle = 300
const longestText = 4_000
const levels: readonly Severity[] = ['info', 'warning', 'critical']

/** Whether an event is a warning of the inbox itself: null if it is none. */
export function toOwnWarning({ id, type, data }: AnyEvent): OwnWarning | null {
  if (type !== 'inbox.warning' && type !== 'inbox.resolved') return null
  const { level } = data as Readonly<Record<string, unknown>>
  return {
    incident: id.replace(/:(?:critical|resolved)$/, ''),
    isOver: type === 'inbox.resolved',
    level: levels.find((known) => known === level) ?? 'warning',
  }
}

/** Words such a warning for people: undefined if the event is none. A missing or odd field shows as `?`; it never throws. */
export function toOwnMessage(event: AnyEvent): Message | undefined {
  const warning = toOwnWarning(event)
  if (warning === null) return undefined
  const { title, subject, text, since, url } = event.data as Readonly<Record<string, unknown>>
  const shown = formatText(title, longestTitle)
  return {
    title: (warning.isOver ? `Over: ${shown}` : shown).toWellFormed(),
    facts: [
      ...(typeof subject === 'string' && subject !== ''
        ? [['about', formatText(subject, longestTitle).toWellFormed()] as const]
        : []),
      ['since', formatText(since, 40).toWellFormed()],
    ],
    severity: warning.isOver ? 'info' : warning.level,
    links: isWebAddress(url) ? [{ label: 'console', url }] : [],
    time: event.created_at,
    type: event.type,
    network: null,
    eventId: event.id,
    // When it is over nothing is to be done.
    ...(typeof text === 'string' && text !== '' && !warning.isOver && { text: linesOf(text) }),
  }
}

function linesOf(text: string): string {
  const lines = text.slice(0, longestText).split('\n')
  return lines.map((line) => (line === '' ? '' : formatText(line, longestText).toWellFormed())).join('\n')
}

function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\/[^\s<>"'|)\]]{1,500}$/.test(url)
}
