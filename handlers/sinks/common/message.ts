import type { AnyEvent } from 'onchain-inbox'
import {
  describeEvent,
  explorerLink,
  formatText,
  networkOf,
  type EventDescription,
  type Fact,
} from 'onchain-inbox/format'

/** Text and links with which sinks show an event to people. */
export interface Message extends Omit<EventDescription, 'addresses'> {
  readonly links: readonly ExplorerLink[]
  /** `created_at` of the event. */
  readonly time: string
  readonly type: string
  readonly eventId: string
  /** Explanation and advice of an active warning of the inbox; may have several lines. Undefined for other events. */
  readonly text?: string
}

/** Describes an event for people. Never throws. */
export function toMessage(event: AnyEvent & { readonly uid?: string }): Message {
  const { addresses, ...description } = describeEvent(event)
  const warning = toInboxWarning(event)
  const { text, url } = (event.data ?? {}) as Readonly<Record<string, unknown>>
  return {
    ...description,
    facts: [...description.facts, ...addresses],
    links: warning === null ? explorerLinks(event, addresses) : isWebAddress(url) ? [{ label: 'console', url }] : [],
    time: event.created_at,
    type: event.type,
    eventId: event.uid ?? event.id,
    ...(warning?.isResolved === false && typeof text === 'string' && text !== '' && { text: linesOf(text) }),
  }
}

/** A warning about the inbox, sent as an event by the inbox itself. */
interface InboxWarning {
  /** Id shared by all events of one warning. */
  readonly incident: string
  readonly isResolved: boolean
  /** Level of the warning; stays the same after the warning has ended. */
  readonly level: EventDescription['severity']
}

/** Returns null for an event that is not a warning of the inbox. */
export function toInboxWarning({ id, type, data }: AnyEvent): InboxWarning | null {
  if (type !== 'inbox.warning' && type !== 'inbox.resolved') return null
  const { level } = data as Readonly<Record<string, unknown>>
  return {
    incident: id.replace(/:(?:critical|resolved)$/, ''),
    isResolved: type === 'inbox.resolved',
    level: level === 'info' || level === 'critical' ? level : 'warning',
  }
}

const maxTextLength = 4_000

function linesOf(text: string): string {
  const lines = text.slice(0, maxTextLength).split('\n')
  return lines.map((line) => (line === '' ? '' : formatText(line, maxTextLength).toWellFormed())).join('\n')
}

function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\/[^\s<>"'|)\]]{1,500}$/.test(url)
}

export interface ExplorerLink {
  readonly label: string
  readonly url: string
}

/** Links to the block explorer of the event's network. */
function explorerLinks(event: AnyEvent, addresses: readonly Fact[]): readonly ExplorerLink[] {
  return addresses.flatMap(([label, value]) => {
    const kind = label === 'transaction' || label === 'token' ? label : 'address'
    const link = explorerLink(kind, networkOf(event), value)
    return link === null ? [] : [{ label, url: link.href }]
  })
}
