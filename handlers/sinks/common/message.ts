import type { AnyEvent } from 'onchain-inbox'
import { describeEvent, formatText, networkOf, type EventDescription, type Fact } from 'onchain-inbox/format'

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

/** Pages of a block explorer, and the addresses and hashes that it accepts. */
interface Explorer {
  readonly base: string
  /** Path segment before the address of a wallet or contract. */
  readonly addressPath: string
  readonly address: RegExp
  readonly transaction: RegExp
}

const evm = { addressPath: 'address', address: /^0x[0-9a-fA-F]{40}$/, transaction: /^0x[0-9a-fA-F]{64}$/ }
const base58 = '[1-9A-HJ-NP-Za-km-z]'

/** Block explorers by network. */
const explorers: ReadonlyMap<string, Explorer> = new Map([
  ['ethereum', { ...evm, base: 'https://etherscan.io' }],
  ['bnb', { ...evm, base: 'https://bscscan.com' }],
  ['polygon', { ...evm, base: 'https://polygonscan.com' }],
  ['base', { ...evm, base: 'https://basescan.org' }],
  ['avalanche', { ...evm, base: 'https://snowtrace.io' }],
  ['arbitrum', { ...evm, base: 'https://arbiscan.io' }],
  [
    'solana',
    {
      base: 'https://solscan.io',
      addressPath: 'account',
      address: new RegExp(`^${base58}{32,44}$`),
      transaction: new RegExp(`^${base58}{64,88}$`),
    },
  ],
])

/**
 * Links to the block explorer of the event's network. Only valid addresses and transactions of that network get a link,
 * so an event can't make a link to another host.
 */
function explorerLinks(event: AnyEvent, addresses: readonly Fact[]): readonly ExplorerLink[] {
  const explorer = explorers.get(networkOf(event) ?? '')
  if (explorer === undefined) return []
  return addresses.flatMap(([label, value]) => {
    const isTransaction = label === 'transaction'
    const path = isTransaction ? 'tx' : label === 'token' ? 'token' : explorer.addressPath
    const isValid = (isTransaction ? explorer.transaction : explorer.address).test(value)
    return isValid ? [{ label, url: `${explorer.base}/${path}/${value}` }] : []
  })
}
