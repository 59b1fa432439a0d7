import Sqlite from 'better-sqlite3'
import type { Database } from 'better-sqlite3'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { RandomBytes } from '../random.ts'
import type { AccountsState } from '../accounts/port.ts'
import type { WorldLog } from '../logged-world.ts'
import type { WorldCommand } from '../world/port.ts'
import type { DeliveryStore } from '../deliveries/port.ts'
import { createDeliveryStore, deliveryTables } from './delivery-store.ts'
import { createStatesInFile, stateTables } from './saved-states-file.ts'
import type { SavedState, SavedStates } from './saved-states.ts'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Inputs that determine a world. The identity of a data file never changes. */
export interface WorldIdentity {
  readonly seed: string
  /** Settings, in a form that error messages can show. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Digest of the initial accounts and world. */
  readonly contents: string
}

/** State of the previous process. */
export interface PreviousRun {
  readonly accounts: AccountsState
  /** Latest full snapshot. */
  readonly checkpoint: SavedState
  /** Commands since the checkpoint, in order. */
  readonly commands: readonly { readonly at: number; readonly command: WorldCommand }[]
  /** Latest moment that readers may have seen. */
  readonly reachedAt: number
}

export interface DataFileOptions {
  readonly file: string
  readonly identity: WorldIdentity
  /** Start of the history of a new world. */
  readonly startAt: number
  readonly randomBytes: RandomBytes
  /** Lead of the noted moment over the world, in world time. */
  readonly leadMs: () => number
}

/** The data file of accounts and world. Every call is durable when it returns. */
export interface DataFile extends WorldLog {
  /** Start of the world's history. */
  readonly startAt: number
  /** Secret that signs cursors of this world. */
  readonly secret: string
  /** Number of restores so far. */
  epoch(): number
  /** State of the previous process; null if the world isn't created yet. */
  previousRun(): PreviousRun | null
  readonly states: SavedStates
  readonly deliveries: DeliveryStore
  save(accounts: AccountsState): void
  /** Replaces the checkpoint; `state` includes all commands so far. */
  checkpoint(state: SavedState): void
  /** Replaces accounts, world and moment by `state`, and starts a new epoch. */
  replace(state: SavedState): void
  /** Records the exact moment of the world. */
  stand(at: number): void
  /** Idempotent. */
  close(): void
}

const latest = 'latest'
/** Prefix of saved states, so that no name equals `latest`. */
const archived = 'archive:'

/**
 * Opens or creates a data file (SQLite).
 *
 * @throws InboxError if it is in use, of another version, damaged, or belongs to another world
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
    // Removes leftovers of a process that died before its world was complete.
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
  const appendCommand = db.prepare<[number, string]>('INSERT INTO act (at, body) VALUES (?, ?)')
  const dropCommand = db.prepare<[number]>('DELETE FROM act WHERE id = ?')
  const dropCommands = db.prepare<[]>('DELETE FROM act')
  const listCommands = db.prepare<[], { at: number; body: string }>('SELECT at, body FROM act ORDER BY id')
  let reachedAt = Number(meta.need('reached_at'))
  let isOpen = true

  function note(at: number): void {
    meta.set('reached_at', String(at))
    reachedAt = at
  }

  const readEpoch = () => Number(meta.get('course') ?? 0)
  const save = (accounts: AccountsState) => meta.set('accounts', JSON.stringify(accounts))

  function readPreviousRun(): PreviousRun | null {
    const checkpoint = states.get(latest)
    if (meta.get('is_made') === undefined || checkpoint === null) return null
    const commands = listCommands.all().map(({ at, body }) => ({ at, command: JSON.parse(body) as WorldCommand }))
    const accounts = JSON.parse(meta.need('accounts')) as AccountsState
    return { accounts, checkpoint, commands, reachedAt }
  }

  return {
    startAt: Number(meta.need('start_at')),
    secret: meta.need('secret'),
    epoch: readEpoch,
    previousRun: readPreviousRun,
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
    append: db.transaction((at: number, command: WorldCommand, accounts?: AccountsState) => {
      const id = Number(appendCommand.run(at, JSON.stringify(command)).lastInsertRowid)
      if (accounts !== undefined) save(accounts)
      return id
    }),
    drop: db.transaction((id: number, accounts?: AccountsState) => {
      dropCommand.run(id)
      if (accounts !== undefined) save(accounts)
    }),
    reach(at) {
      if (at > reachedAt) note(at + leadMs())
    },
    stand: note,
    checkpoint: db.transaction((state: SavedState) => {
      states.put(latest, state)
      save(state.accounts)
      dropCommands.run()
      meta.set('is_made', 'yes')
    }),
    replace: db.transaction((state: SavedState) => {
      save(state.accounts)
      states.put(latest, state)
      dropCommands.run()
      // Deliveries belong to the previous epoch.
      deliveries.clear()
      meta.set('course', String(readEpoch() + 1))
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
    found.contents === wanted.contents ? [] : ['accounts, tracked wallets, thresholds, networks or stories differ'],
  ].flat()
  if (differences.length === 0) return
  throw new InboxError(
    'config_invalid',
    `${file} belongs to another world: ${differences.join('; ')}. Use the same settings, or choose another file`,
  )
}

function difference(name: string, found: unknown, wanted: unknown): string[] {
  const [theirs, ours] = [found, wanted].map((value) => JSON.stringify(value ?? null))
  return theirs === ours ? [] : [`${name} is ${theirs} in the file, ${ours} in the settings`]
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
        throw new InboxError('database_corrupt', `the data file has no ${name}; choose another file`)
      return value
    },
    set: (name: string, value: string) => void upsert.run(name, value),
  }
}

/** Version of the tables and of the world's rules. */
const format = 4
/** Marks a database as one of this program: "oiem". */
const applicationId = 0x6f69656d

const tables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE act (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  ${stateTables}
  ${deliveryTables}
`

/**
 * Opens or creates the file, readable by its owner only and locked against other processes. A commit is on disk when
 * the call returns. Files of other programs are left unchanged.
 *
 * @throws InboxError `database_in_use`, `database_newer`, `database_older`, `database_corrupt` or `config_invalid`
 */
export function openDatabase(file: string): Database {
  makeOwnersOnly(file)
  const db = new Sqlite(file, { timeout: 0 })
  try {
    // Before the first read: the lock is taken with it and ends with the process, however that dies.
    db.pragma('locking_mode = EXCLUSIVE')
    const isNew = checkFormat(db, file)
    // Before WAL mode: the main file carries the application id from its first commit.
    if (isNew)
      db.exec(
        `BEGIN IMMEDIATE; ${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format}; COMMIT`,
      )
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.pragma('trusted_schema = OFF')
    db.exec('BEGIN IMMEDIATE; COMMIT')
    return db
  } catch (error) {
    db.close()
    throw toOpenError(file, error)
  }
}

/** True if the file is empty. Throws if its format differs. */
function checkFormat(db: Database, file: string): boolean {
  const found = Number(db.pragma('user_version', { simple: true }))
  if (found > format) {
    throw new InboxError(
      'database_newer',
      `${file} was written by a newer version (format ${found}, expected ${format}). Run the newer version, or choose ` +
        `another file`,
    )
  }
  if (found > 0 && found < format) {
    throw new InboxError(
      'database_older',
      `${file} was written by an earlier version with another format. Delete it, or choose another file, to start over`,
    )
  }
  return found === 0
}

function makeOwnersOnly(file: string): void {
  try {
    if (existsSync(file)) refuseForeign(file)
    else makeEmpty(file)
    chmodSync(file, 0o600)
  } catch (error) {
    if (error instanceof InboxError) throw error
    throw new InboxError('config_invalid', `cannot write ${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** Creates the file's folder, but no parents: a mistyped path must not create a tree of folders. */
function makeEmpty(file: string): void {
  const folder = dirname(file)
  if (!existsSync(folder)) {
    const parent = dirname(folder)
    if (!existsSync(parent)) {
      throw new InboxError('config_invalid', `cannot create ${file}: the folder ${parent} is missing; create it first`)
    }
    mkdirSync(folder)
  }
  closeSync(openSync(file, 'a', 0o600))
}

const magic = 'SQLite format 3\0'
const headerBytes = 100
const applicationIdAt = 68

/** Reads the header only: opening a database that wasn't closed would change it. */
function refuseForeign(file: string): void {
  const stats = statSync(file)
  if (!stats.isFile()) throw new InboxError('config_invalid', `${file} is not a regular file; choose another`)
  if (stats.size === 0) return
  const header = Buffer.alloc(headerBytes)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, header, 0, headerBytes, 0)
  } finally {
    closeSync(handle)
  }
  if (header.toString('latin1', 0, magic.length) !== magic) {
    throw new InboxError('database_corrupt', `${file} is not a data file of the emulator; choose another file`)
  }
  if (header.readUInt32BE(applicationIdAt) !== applicationId) {
    throw new InboxError('config_invalid', `${file} is a database of another program; choose another file`)
  }
}

function toOpenError(file: string, cause: unknown): unknown {
  if (!(cause instanceof Sqlite.SqliteError)) return cause
  if (cause.code.startsWith('SQLITE_BUSY')) {
    return new InboxError('database_in_use', `${file} is in use by another process: stop it, or choose another file`, {
      cause,
    })
  }
  const what = cause.code === 'SQLITE_NOTADB' ? 'is not a data file of the emulator' : 'cannot be used'
  return new InboxError('database_corrupt', `${file} ${what}: ${cause.message} (${cause.code}); choose another file`, {
    cause,
  })
}
