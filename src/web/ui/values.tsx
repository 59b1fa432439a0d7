import { ActionIcon, Anchor } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { useSyncExternalStore } from 'react'
import { explorerLink, type ExplorerKind } from '../../dispatch/format.ts'
import { formatAge, formatDuration, formatTime, shortAddress } from './format.ts'
import { shortText, toVisible } from './text.tsx'

interface MomentProps {
  readonly at: string | number | null | undefined
}

function Moment({ at, format }: MomentProps & { readonly format: (ms: number) => string }) {
  const date = new Date(at ?? Number.NaN)
  if (Number.isNaN(date.getTime())) return '–'
  const exact = date.toISOString()
  return (
    <time className="ui-number" dateTime={exact} title={exact}>
      {format(date.getTime())}
    </time>
  )
}

/** A time in UTC; the title has milliseconds. */
export function Time({ at }: MomentProps) {
  return <Moment at={at} format={formatTime} />
}

/** Time since a moment, updated every second; the title has the exact time. */
export function Age({ at }: MomentProps) {
  const now = useNow()
  return <Moment at={at} format={(ms) => formatAge(Math.max(0, now - ms))} />
}

/** Time until a moment: `in 4 s`, then `now`. */
export function Until({ at }: MomentProps) {
  const now = useNow()
  return <Moment at={at} format={(ms) => (ms <= now ? 'now' : `in ${formatDuration(ms - now)}`)} />
}

/** The time of the whole page. One timer runs as long as the page has ages. */
const clock = { now: Date.now(), timer: 0, listeners: new Set<() => void>() }

function tick(): void {
  clock.now = Date.now()
  for (const listener of clock.listeners) listener()
}

function onTick(listener: () => void): () => void {
  if (clock.listeners.size === 0) clock.timer = window.setInterval(tick, 1_000)
  clock.listeners.add(listener)
  return () => {
    clock.listeners.delete(listener)
    if (clock.listeners.size === 0) window.clearInterval(clock.timer)
  }
}

/** Milliseconds since 1970, updated every second. */
export function useNow(): number {
  return useSyncExternalStore(onTick, () => (clock.listeners.size === 0 ? (clock.now = Date.now()) : clock.now))
}

// Drawn on 24 by 24. Every icon has text next to it or is in a labelled button.
const paths = {
  copy: 'M8 8h11v11H8z M5 16H4V5h11v1',
  check: 'M5 13l4 4L19 7',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13 M15.5 15.5L20 20',
} as const

export function Icon({ name }: { readonly name: keyof typeof paths }) {
  return (
    <svg viewBox="0 0 24 24" width="14" height="14" aria-hidden="true">
      <path d={paths[name]} fill="none" stroke="currentColor" strokeWidth="2" />
    </svg>
  )
}

/** Copies `value`. `label` names the value: `Copy address`. */
export function Copy({ value, label }: { readonly value: string; readonly label: string }) {
  const { copied, error, copy } = useClipboard()
  // Without a clipboard (plain HTTP from another host) the value has to be selected by hand.
  const title = copied ? 'Copied' : error ? 'Copy by hand' : `Copy ${label}`
  return (
    <ActionIcon
      className="ui-copy"
      variant="subtle"
      color="gray"
      size="xs"
      aria-label={title}
      title={title}
      onClick={() => copy(value)}
    >
      <Icon name={copied ? 'check' : 'copy'} />
    </ActionIcon>
  )
}

export interface IdProps {
  readonly value: unknown
  readonly href?: string
  /** Copied as `Copy address`. */
  readonly label?: string
}

/** Both ends of an address, hash or id, with a copy button. */
export function Id({ value, href, label = 'id' }: IdProps) {
  if (typeof value !== 'string' || value === '') return '–'
  const short = <code title={shortText(value, 500)}>{toVisible(shortAddress(value))}</code>
  return (
    <span className="ui-id">
      {href === undefined ? short : <Anchor href={href}>{short}</Anchor>}
      <Copy value={value} label={label} />
    </span>
  )
}

export interface PlaceProps {
  readonly kind: ExplorerKind
  readonly network: unknown
  readonly value: string
}

/** An address or transaction, linked to the explorer of its network. */
export function OnChain({ kind, network, value }: PlaceProps) {
  const link = explorerLink(kind, network, value)
  return (
    <span className="ui-id">
      <Id value={value} label={kind} />
      {link !== null && (
        <Anchor
          href={link.href}
          target="_blank"
          rel="noreferrer noopener"
          aria-label={`${link.name}: ${shortAddress(value)}`}
          title={link.name}
        >
          ↗
        </Anchor>
      )}
    </span>
  )
}
