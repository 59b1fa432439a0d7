import { createHash } from 'node:crypto'
import { ownEventSchemas, type OwnEventData, type OwnEventType } from '../../schema/own.ts'
import { ownLabel, type NewEvent } from '../inbox/port.ts'
import type { Warning } from './port.ts'

/** A warning that is told: with when that began, by which its events are known. */
export interface ToldWarning {
  readonly warning: Warning
  readonly toldAt: number
}

/** With the replica that it is about; null: about all there are. */
export interface OwnWarning extends ToldWarning {
  readonly replica: string | null
}

/** What has become of it: `critical` is said of one that was none when it began. */
export type Turn = 'begun' | 'critical' | 'resolved'

const suffixes: Readonly<Record<Turn, string>> = { begun: '', critical: ':critical', resolved: ':resolved' }

export interface OwnEventOptions {
  readonly at: number
  /** Without a slash at its end; null: not known. */
  readonly consoleUrl: string | null
}

/**
 * The event that tells of a warning: `inbox:<code>:<digest of subject and replica>:<when it was told first>`, with what became of it
 * behind that. All events of a warning have one key, so that whoever keeps order gets its end after its begin.
 */
export function toOwnEvent({ warning, toldAt, replica }: OwnWarning, turn: Turn, options: OwnEventOptions): NewEvent {
  const { at, consoleUrl } = options
  const { code, subject, level, title, text, since, href } = warning
  const digest = digestOf(replica === null ? subject : `${replica} ${subject}`)
  const id = `inbox:${code}:${digest}:${toldAt}${suffixes[turn]}`
  const type: OwnEventType = turn === 'resolved' ? 'inbox.resolved' : 'inbox.warning'
  const createdAt = new Date(at).toISOString()
  const data: OwnEventData = {
    code,
    subject,
    level,
    title,
    text,
    since: new Date(since).toISOString(),
    href,
    ...(consoleUrl !== null && href !== null && { url: `${consoleUrl}/#${href}` }),
    ...(replica !== null && { replica }),
  }
  const raw = Buffer.from(JSON.stringify({ id, type, created_at: createdAt, data }))
  return {
    kind: 'event',
    id,
    type,
    createdAt,
    // Without a colon: what is before one is the network of an event.
    key: `inbox-${code}-${digest}`,
    network: null,
    address: null,
    raw,
    receivedAt: at,
    secretLabel: ownLabel,
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The id that the first event of the same warning has. */
export function firstIdOf(id: string): string {
  return id.replace(/:(?:critical|resolved)$/, '')
}

/** The warning that stored bytes tell of; null if they tell of none, or are gone. */
export function readOwnEvent(id: string, raw: Uint8Array): OwnWarning | null {
  const toldAt = Number(/:(\d{1,15})$/.exec(firstIdOf(id))?.[1])
  try {
    const event = ownEventSchemas['inbox.warning'].parse(JSON.parse(Buffer.from(raw).toString()))
    const { code, subject, level, title, text, since, href, replica = null } = event.data
    return Number.isNaN(toldAt)
      ? null
      : { warning: { code, subject, level, title, text, since: Date.parse(since), href }, toldAt, replica }
  } catch {
    return null
  }
}
