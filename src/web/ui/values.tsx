import { ActionIcon, Anchor } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { explorerLink, type ExplorerKind } from './explorers.ts'
import { formatAge, formatDuration, formatTime, shortAddress } from './format.ts'
import { Icon } from './icons.tsx'
import { toVisible } from './plain-text.tsx'
import { useNow } from './clock.ts'

type Moment = string | number | null | undefined

function exactOf(at: Moment): string | null {
  const date = new Date(at ?? Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** A time in UTC; the title has milliseconds. */
export function Time({ at }: { readonly at: Moment }) {
  const exact = exactOf(at)
  if (exact === null) return <>–</>
  return (
    <time className="ui-number" dateTime={exact} title={exact}>
      {formatTime(exact)}
    </time>
  )
}

/** Time since a moment, updated every second; the title has the exact time. */
export function Age({ at }: { readonly at: Moment }) {
  const now = useNow()
  return <Relative at={at} format={(ms) => formatAge(Math.max(0, now - ms))} />
}

/** Time until a moment: `in 4 s`, then `now`. */
export function Until({ at }: { readonly at: Moment }) {
  const now = useNow()
  return <Relative at={at} format={(ms) => (ms <= now ? 'now' : `in ${formatDuration(ms - now)}`)} />
}

function Relative({ at, format }: { readonly at: Moment; readonly format: (ms: number) => string }) {
  const exact = exactOf(at)
  if (exact === null) return <>–</>
  return (
    <time className="ui-number" dateTime={exact} title={exact}>
      {format(Date.parse(exact))}
    </time>
  )
}

/** Copies `value`. `what` completes the label: `Copy address`. */
export function Copy({ value, what }: { readonly value: string; readonly what: string }) {
  const { copied, error, copy } = useClipboard()
  // Without a clipboard (plain HTTP from another host) the value has to be selected by hand.
  const label = copied ? 'Copied' : error ? 'Copy by hand' : `Copy ${what}`
  return (
    <ActionIcon
      className="ui-copy"
      variant="subtle"
      color="gray"
      size="xs"
      aria-label={label}
      title={label}
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
  readonly what?: string
}

/** Both ends of an address, hash or id, with a copy button. */
export function Id({ value, href, what = 'id' }: IdProps) {
  if (typeof value !== 'string' || value === '') return <>–</>
  const short = toVisible(shortAddress(value))
  return (
    <span className="ui-id">
      {href === undefined ? (
        <code title={toVisible(value.slice(0, 500))}>{short}</code>
      ) : (
        <Anchor href={href} title={toVisible(value.slice(0, 500))}>
          <code>{short}</code>
        </Anchor>
      )}
      <Copy value={value} what={what} />
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
      <Id value={value} what={kind} />
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
