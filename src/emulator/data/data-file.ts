import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'
import type { RandomBytes } from '../random.ts'
import type { AccountsState } from '../accounts/port.ts'
import type { WorldLog } from '../logged-world.ts'
import type { WorldAct } from '../world/port.ts'
import type { DeliveryStore } from '../deliveries/port.ts'
import { createDeliveryStore } from './delivery-store.ts'
import { openDatabase } from './open-database.ts'
import { createStatesInFile } from './saved-states-file.ts'
import type { SavedState, SavedStates } from './saved-states.ts'

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
  readonly states: SavedStates
  readonly deliveries: DeliveryStore
  save(accounts: AccountsState): void
  /** From now on the world begins with `state`, in which all acts so far are. */
  checkpoint(state: SavedState): void
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
    db.exec('DELETE FROM meta; DELETE FROM act; DELETE FROM state; DELETE FROM chunk')
    createDeliveryStore(db).clear()
    meta.set('identity', JSON.stringify(identity))
    meta.set('start_at', String(startAt))
    meta.set('secret', Buffer.from(randomBytes(32)).toString('base64url'))
    meta.set('reached_at', String(startAt))
  }
  refuseOther(file, JSON.parse(meta.need('identity')) as WorldIdentity, identity)

  const states = createStatesInFile(db)
  const deliveries = createDeliveryStore(db)
  const appendAct = db.prepare<[number, string]>('INSERT INTO act (at, body) VALUES (?, ?)')
  const dropAct = db.prepare<[number]>('DELETE FROM act WHERE id = ?')
  const dropActs = db.prepare<[]>('DELETE FROM act')
  const listActs = db.prepare<[], { at: number; body: string }>('SELECT at, body FROM act ORDER BY id')
  let reachedAt = Number(meta.need('reached_at'))
  let isOpen = true

  function note(at: number): void {
    meta.set('reached_at', String(at))
    reachedAt = at
  }

  const readCourse = () => Number(meta.get('course') ?? 0)
  const save = (accounts: AccountsState) => meta.set('accounts', JSON.stringify(accounts))

  function readLeftBehind(): LeftBehind | null {
    const checkpoint = states.get(latest)
    if (meta.get('is_made') === undefined || checkpoint === null) return null
    const acts = listActs.all().map(({ at, body }) => ({ at, act: JSON.parse(body) as WorldAct }))
    const accounts = JSON.parse(meta.need('accounts')) as AccountsState
    return { accounts, checkpoint, acts, reachedAt }
  }

  return {
    startAt: Number(meta.need('start_at')),
    secret: meta.need('secret'),
    course: readCourse,
    leftBehind: readLeftBehind,
    states: {
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
    save,
    append: db.transaction((at: number, act: WorldAct, accounts?: AccountsState) => {
      const id = Number(appendAct.run(at, JSON.stringify(act)).lastInsertRowid)
      if (accounts !== undefined) save(accounts)
      return id
    }),
    drop: db.transaction((id: number, accounts?: AccountsState) => {
      dropAct.run(id)
      if (accounts !== undefined) save(accounts)
    }),
    reach(at) {
      if (at > reachedAt) note(at + leadMs())
    },
    stand: note,
    checkpoint: db.transaction((state: SavedState) => {
      states.put(latest, state)
      save(state.accounts)
      dropActs.run()
      meta.set('is_made', 'yes')
    }),
    replace: db.transaction((state: SavedState) => {
      save(state.accounts)
      states.put(latest, state)
      dropActs.run()
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
