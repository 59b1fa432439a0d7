import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'
import type { RandomBytes } from '../accounts/ids.ts'
import type { AccountsChange, AccountsState } from '../accounts/state.ts'
import type { WorldLog } from '../logged-world.ts'
import type { WorldAct } from '../world/port.ts'
import type { DeliveryStore } from '../deliveries/port.ts'
import { createDeliveryStore } from './delivery-store.ts'
import type { Archive, SavedState } from './archive.ts'
import { openDatabase } from './open-database.ts'
import { createRecords, createStates } from './tables.ts'

/** What a world is made from. A file goes with one of them, for good. */
export interface WorldIdentity {
  readonly seed: string
  /** What was set beside it, in words that can be shown. */
  readonly settings: Readonly<Record<string, unknown>>
  /** A digest of what the accounts and the world begin with. */
  readonly contents: string
}

/** What a process before this one left behind. */
export interface LeftBehind {
  readonly accounts: AccountsState
  /** The newest state that was saved as a whole. */
  readonly checkpoint: SavedState
  /** What was done to the world since then, in order. */
  readonly acts: readonly { readonly at: number; readonly act: WorldAct }[]
  /** The world may have been seen as of this moment, but of none later. */
  readonly reachedAt: number
}

export interface DataFileOptions {
  readonly file: string
  readonly identity: WorldIdentity
  /** When the history of a new world begins. */
  readonly startAt: number
  readonly randomBytes: RandomBytes
  /** How far the moment that is noted runs ahead of the world, in world time. */
  readonly leadMs: () => number
}

/** The file in which accounts and world outlive the process. Every call is durable when it returns. */
export interface DataFile extends WorldLog {
  /** When the history of its world began. */
  readonly startAt: number
  /** A secret of its world, for cursors. */
  readonly secret: string
  /** How often everything was put back. */
  course(): number
  /** Null if the world is yet to be made. */
  leftBehind(): LeftBehind | null
  readonly archive: Archive
  readonly deliveries: DeliveryStore
  save(change: AccountsChange): void
  /** Number of the last act, to be given to `checkpoint` with a state that was taken after it. */
  lastAct(): number
  /** From now on the world begins with `state`; acts up to number `lastAct` are in it. */
  checkpoint(state: SavedState, lastAct: number): void
  /** Puts `state` in the place of everything: accounts, world and moment. Another course of time begins. */
  replace(state: SavedState): void
  /** Notes the exact moment at which the world stands. */
  stand(at: number): void
  /** Idempotent. */
  close(): void
}

const latest = 'latest'
/** Names of the archive cannot meet the one of the checkpoint. */
const archived = 'archive:'

/**
 * Opens or makes a data file (SQLite).
 *
 * @throws InboxError if it is in use, of a newer version, damaged, or goes with another world
 */
export function openDataFile(options: DataFileOptions): DataFile {
  const db = openDatabase(options.file)
  try {
    return useDatabase(db, options)
  } catch (error) {
    db.close()
    throw error
  }
}

function useDatabase(db: Database, options: DataFileOptions): DataFile {
  const { file, identity, startAt, randomBytes, leadMs } = options
  const meta = createMeta(db)
  if (meta.get('is_made') === undefined) {
    // What a process left that died before its world was complete.
    db.exec('DELETE FROM meta; DELETE FROM account; DELETE FROM api_key; DELETE FROM webhook; DELETE FROM alert')
    db.exec('DELETE FROM act; DELETE FROM state; DELETE FROM chunk')
    createDeliveryStore(db).clear()
    meta.set('identity', JSON.stringify(identity))
    meta.set('start_at', String(startAt))
    meta.set('secret', Buffer.from(randomBytes(32)).toString('base64url'))
    meta.set('reached_at', String(startAt))
  }
  refuseOther(file, JSON.parse(meta.need('identity')) as WorldIdentity, identity)

  const records = createRecords(db)
  const states = createStates(db)
  const deliveries = createDeliveryStore(db)
  const appendAct = db.prepare<[number, string]>('INSERT INTO act (at, body) VALUES (?, ?)')
  const dropAct = db.prepare<[number]>('DELETE FROM act WHERE id = ?')
  const dropActs = db.prepare<[number]>('DELETE FROM act WHERE id <= ?')
  const listActs = db.prepare<[], { at: number; body: string }>('SELECT at, body FROM act ORDER BY id')
  let lastAct = db.prepare<[], { id: number }>('SELECT max(id) AS id FROM act').get()?.id ?? 0
  let reachedAt = Number(meta.need('reached_at'))
  let isOpen = true

  function note(at: number): void {
    meta.set('reached_at', String(at))
    reachedAt = at
  }

  const readCourse = () => Number(meta.get('course') ?? 0)

  function readLeftBehind(): LeftBehind | null {
    const checkpoint = states.get(latest)
    if (meta.get('is_made') === undefined || checkpoint === null) return null
    const acts = listActs.all().map(({ at, body }) => ({ at, act: JSON.parse(body) as WorldAct }))
    return { accounts: records.read(), checkpoint, acts, reachedAt }
  }

  return {
    startAt: Number(meta.need('start_at')),
    secret: meta.need('secret'),
    course: readCourse,
    leftBehind: readLeftBehind,
    archive: {
      put: (name, state) => states.put(archived + name, state),
      get: (name) => states.get(archived + name),
      remove: (name) => states.remove(archived + name),
      list: () =>
        states
          .list()
          .filter(({ name }) => name.startsWith(archived))
          .map(({ name, at }) => ({ name: name.slice(archived.length), at })),
    },
    deliveries,
    save: (change) => records.write(change),
    append: db.transaction((at: number, act: WorldAct, change?: AccountsChange) => {
      lastAct = Number(appendAct.run(at, JSON.stringify(act)).lastInsertRowid)
      if (change !== undefined) records.write(change)
      return lastAct
    }),
    drop: db.transaction((id: number, undo?: AccountsChange) => {
      dropAct.run(id)
      if (undo !== undefined) records.write(undo)
    }),
    reach(at) {
      if (at > reachedAt) note(at + leadMs())
    },
    stand: note,
    lastAct: () => lastAct,
    checkpoint: db.transaction((state: SavedState, upTo: number) => {
      states.put(latest, state)
      dropActs.run(upTo)
      meta.set('is_made', 'yes')
    }),
    replace: db.transaction((state: SavedState) => {
      records.replaceAll(state.accounts)
      states.put(latest, state)
      dropActs.run(lastAct)
      // They belong to the course of time that is left.
      deliveries.clear()
      meta.set('course', String(readCourse() + 1))
      note(state.at)
    }),
    close() {
      if (!isOpen) return
      isOpen = false
      db.close()
    },
  }
}

function refuseOther(file: string, found: WorldIdentity, wanted: WorldIdentity): void {
  const names = [...new Set([...Object.keys(found.settings), ...Object.keys(wanted.settings)])]
  const differences = [
    difference('seed', found.seed, wanted.seed),
    ...names.map((name) => difference(name, found.settings[name], wanted.settings[name])),
    found.contents === wanted.contents ? [] : ['other accounts, tracked wallets, thresholds, networks or stories'],
  ].flat()
  if (differences.length === 0) return
  throw new InboxError(
    'config_invalid',
    `${file} holds a world that began otherwise: ${differences.join('; ')}. Ask for the same, or give another file`,
  )
}

function difference(name: string, found: unknown, wanted: unknown): string[] {
  const [theirs, ours] = [found, wanted].map((value) => JSON.stringify(value ?? null))
  return theirs === ours ? [] : [`${name} is ${theirs} in the file, ${ours} was asked for`]
}

function createMeta(db: Database) {
  const select = db.prepare<[string], { value: string }>('SELECT value FROM meta WHERE name = ?')
  const upsert = db.prepare<[string, string]>(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const get = (name: string) => select.get(name)?.value
  return {
    get,
    need(name: string): string {
      const value = get(name)
      if (value === undefined)
        throw new InboxError('database_corrupt', `the data file has no ${name}; give another file`)
      return value
    },
    set: (name: string, value: string) => void upsert.run(name, value),
  }
}
