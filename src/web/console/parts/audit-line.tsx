import { Anchor } from '@mantine/core'
import { formatCount } from '../../ui/format.ts'
import { LongText, shortText } from '../../ui/long-text.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { queryOf } from '../api-client.ts'
import type { AuditJson } from '../contract.ts'

type Detail = AuditJson['detail']

interface Told {
  readonly words: string
  /** Members of the detail that lead somewhere, and are not named again. */
  readonly links?: (detail: Detail) => readonly Link[]
}

interface Link {
  readonly member: string
  readonly text: string
  readonly href: string
}

const textOf = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : null)

function linkTo(member: string, hrefOf: (value: string) => string) {
  return (detail: Detail): readonly Link[] => {
    const value = textOf(detail[member])
    return value === null ? [] : [{ member, text: value, href: hrefOf(value) }]
  }
}

const toHandler = linkTo('handler', (name) => `#/handlers${queryOf({ q: name })}`)
const toReplay = linkTo('replay', () => '#/replays')
const toBody = linkTo('id', (id) => `#/quarantine/${encodeURIComponent(id)}`)
const toEvent = linkTo('event', (id) => `#/events/${encodeURIComponent(id)}`)
const toPage = (href: string, text: string) => (): readonly Link[] => [{ member: '', text, href }]

/** What was done, by the name that it is noted under; one that is not known here is shown by its name. */
const actions: Readonly<Record<string, Told>> = {
  'handler.pause': { words: 'Paused', links: toHandler },
  'handler.resume': { words: 'Resumed', links: toHandler },
  'handler.set': { words: 'Set the concurrency of', links: toHandler },
  'handler.drop': { words: 'Dropped the open runs of', links: toHandler },
  'dead.requeue': { words: 'Requeued', links: toPage('#/dead-letters', 'dead letters') },
  'dead.drop': { words: 'Dropped', links: toPage('#/dead-letters', 'dead letters') },
  'quarantine.retry': { words: 'Took out of quarantine, as the event', links: toEvent },
  'quarantine.drop': { words: 'Dropped from quarantine', links: toBody },
  prune: { words: 'Pruned what is old' },
  'replay.start': { words: 'Started the replay', links: toReplay },
  'replay.cancel': { words: 'Cancelled the replay', links: toReplay },
  'gaps.acknowledge': { words: 'Acknowledged', links: toPage('#/health', 'what was missing or lost') },
  'subscription.begin': { words: 'Began a', links: toPage('#/health', 'registration with the service') },
  'subscription.register': { words: 'Noted a', links: toPage('#/health', 'registration with the service') },
  'session.begin': { words: 'Signed in' },
  'session.end': { words: 'Signed out' },
  'reconcile.start': { words: 'Started to', links: toPage('#/health', 'reconcile') },
  'reconcile.cancel': { words: 'Cancelled the', links: toPage('#/health', 'reconcile') },
  'index.rebuild': { words: 'Rebuilt', links: toPage('#/health', 'the index') },
}
const ofAll = new Set(['handler.pause', 'handler.resume'])

/** An act in a line: what was done, with the way to what it was done to, and the rest of what was noted. */
export function AuditLine({ audit: { action, detail } }: { readonly audit: AuditJson }) {
  const told = Object.hasOwn(actions, action) ? actions[action] : undefined
  const links = told?.links?.(detail) ?? []
  const named = new Set(links.map(({ member }) => member))
  const isOfAll = ofAll.has(action) && textOf(detail['handler']) === null
  const rest = Object.entries(detail).filter(([member, value]) => !named.has(member) && value !== null)
  return (
    <div>
      {told === undefined ? <LongText value={action} /> : told.words}
      {isOfAll && ' all handlers'}
      {links.map(({ member, text, href }) => (
        <span key={member}>
          {' '}
          <Anchor href={href}>
            <bdi>{shortText(text)}</bdi>
          </Anchor>
        </span>
      ))}
      {rest.length > 0 && (
        <ul className="console-audit ui-dimmed">
          {rest.map(([member, value]) => (
            <li key={member}>
              <PlainText value={shortText(member)} />: <Value value={value} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

const mostNumbers = 20

function Value({ value }: { readonly value: unknown }) {
  if (typeof value === 'number') return <>{Number.isSafeInteger(value) ? formatCount(value) : value}</>
  if (typeof value === 'string') return <LongText value={value} />
  if (Array.isArray(value) && value.length > mostNumbers && value.every((one) => typeof one === 'number')) {
    return (
      <>
        {value.slice(0, mostNumbers).join(', ')} … {formatCount(value.length)} in all
      </>
    )
  }
  return <LongText value={JSON.stringify(value)} />
}
