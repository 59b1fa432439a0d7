import Sqlite, { type Database } from 'better-sqlite3'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { AccountsState } from '../accounts/accounts.ts'
import { createDeliveryStore, deliveryTables } from '../deliveries/store.ts'
import type { RandomBytes } from '../random.ts'
import type { WorldCommand } from '../world/port.ts'
import { type SavedState, createSavedStates, stateTables } from './saved-states.ts'

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
  /** Undefined: an unnamed temporary file, which ends with the process. */
  readonly file: string | undefined
  readonly identity: WorldIdentity
  /** Start of the history of a new world. */
  readonly startAt: number
  readonly randomBytes: RandomBytes
  readonly wall: Clock
  readonly log: Logger
}

const checkpointName = 'latest'
/** Prefix of saved states, so that no name equals `latest`. */
const savedStatePrefix = 'archive:'

/**
 * Opens or creates the data file (SQLite) of accounts, world and deliveries. Calls are durable when they return; calls
 * of `deliveries` within 20 ms.
 *
 * @throws InboxError if it is in use, of another version, damaged, or belongs to another world
 */
export function openDataFile({ file, identity, startAt, randomBytes, wall, log }: DataFileOptions) {
  const db = file === undefined ? openTemporary() : openDatabase(file)
  try {
    const meta = createMeta(db)
    const deliveries = createDeliveryStore({ db, wall, log })
    if (meta.get('is_made') === undefined) {
      // Removes leftovers of a process that died before its world was complete.
      db.exec('DELETE FROM meta; DELETE FROM act; DELETE FROM state; DELETE FROM chunk')
      deliveries.clear()
      deliveries.commit()
      meta.set('identity', JSON.stringify(identity))
      meta.set('start_at', String(startAt))
      meta.set('secret', Buffer.from(randomBytes(32)).toString('base64url'))
      meta.set('reached_at', String(startAt))
    }
    expectSame(file ?? '', JSON.parse(meta.need('identity')) as WorldIdentity, identity)
    return useDatabase(db, meta, deliveries)
  } catch (error) {
    db.close()
    throw error
  }
}

function useDatabase(db: Database, meta: Meta, deliveries: ReturnType<typeof createDeliveryStore>) {
  const states = createSavedStates(db)
  const appendCommand = db.prepare<[number, string]>('INSERT INTO act (at, body) VALUES (?, ?)')
  const dropCommands = db.prepare<[]>('DELETE FROM act')
  const listCommands = db.prepare<[], { at: number; body: string }>('SELECT at, body FROM act ORDER BY id')
  let reachedAt = Number(meta.need('reached_at'))

  /** A separate transaction: the deliveries so far are committed before it. */
  function durable<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R {
    const transaction = db.transaction(fn)
    return (...args) => {
      deliveries.commit()
      return transaction(...args)
    }
  }

  let epoch = Number(meta.get('course') ?? 0)
  const save = (accounts: AccountsState) => meta.set('accounts', JSON.stringify(accounts))
  const recordReached = durable((at: number) => {
    meta.set('reached_at', String(at))
    reachedAt = at
  })

  return {
    /** Start of the world's history. */
    startAt: Number(meta.need('start_at')),
    /** Secret that signs cursors of this world. */
    secret: meta.need('secret'),
    /** Number of restores so far. */
    epoch: () => epoch,
    deliveries,
    /** State of the previous process; null if the world isn't created yet. */
    previousRun(): PreviousRun | null {
      const checkpoint = states.get(checkpointName)
      if (meta.get('is_made') === undefined || checkpoint === null) return null
      const commands = listCommands.all().map(({ at, body }) => ({ at, command: JSON.parse(body) as WorldCommand }))
      return { accounts: JSON.parse(meta.need('accounts')) as AccountsState, checkpoint, commands, reachedAt }
    },
    states: {
      put: durable((name: string, state: SavedState) => states.put(savedStatePrefix + name, state)),
      get: (name: string) => states.get(savedStatePrefix + name),
      remove: durable((name: string) => states.remove(savedStatePrefix + name)),
      list: () =>
        states
          .list()
          .filter(({ name }) => name.startsWith(savedStatePrefix))
          .map(({ name, at }) => ({ name: name.slice(savedStatePrefix.length), at })),
    },
    save: durable(save),
    /** Stores a command together with the accounts. */
    append: durable((at: number, command: WorldCommand, accounts?: AccountsState) => {
      if (accounts !== undefined) save(accounts)
      appendCommand.run(at, JSON.stringify(command))
    }),
    /** Records that readers may have seen the world as of `at`, or up to `leadMs` later. */
    reach(at: number, leadMs: number): void {
      if (at > reachedAt) recordReached(at + leadMs)
    },
    /** Records the exact moment of the world. */
    recordReached,
    /** Replaces the checkpoint; `state` includes all commands so far. */
    checkpoint: durable((state: SavedState) => {
      states.put(checkpointName, state)
      save(state.accounts)
      dropCommands.run()
      meta.set('is_made', 'yes')
    }),
    /** Replaces accounts, world and moment by `state`, and starts a new epoch. Deliveries belong to the previous one. */
    replace: durable((state: SavedState) => {
      states.put(checkpointName, state)
      save(state.accounts)
      dropCommands.run()
      deliveries.clear()
      meta.set('course', String(++epoch))
      meta.set('reached_at', String(state.at))
      reachedAt = state.at
    }),
    /** Idempotent. */
    close: () => void db.close(),
  }
}

function expectSame(file: string, actual: WorldIdentity, wanted: WorldIdentity): void {
  const names = [...new Set([...Object.keys(actual.settings), ...Object.keys(wanted.settings)])]
  const differences = [
    ...['seed', ...names].flatMap((name) => {
      const [inFile, inSettings] = [actual, wanted].map(({ seed, settings }) =>
        JSON.stringify({ ...settings, seed }[name]),
      )
      return inFile === inSettings ? [] : [`${name} is ${inFile} in the file, ${inSettings} in the settings`]
    }),
    ...(actual.contents === wanted.contents
      ? []
      : ['accounts, tracked wallets, thresholds, networks or stories differ']),
  ]
  if (differences.length === 0) return
  throw new InboxError(
    'config_invalid',
    `${file} belongs to another world: ${differences.join('; ')}. Use the same settings, or choose another file`,
  )
}

type Meta = ReturnType<typeof createMeta>

function createMeta(db: Database) {
  const select = db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck()
  const upsert = db.prepare<[string, string]>(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const get = (name: string) => select.get(name)
  return {
    get,
    need(name: string): string {
      const value = get(name)
      if (value !== undefined) return value
      throw new InboxError('database_corrupt', `the data file has no ${name}; choose another file`)
    },
    set: (name: string, value: string) => void upsert.run(name, value),
  }
}

/** Version of the tables and of the world's rules. */
const format = 5
/** Marks a database as one of this program: "oiem". */
const applicationId = 0x6f69656d

const tables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE act (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  ${stateTables}
  ${deliveryTables}
`

/** An unnamed database that ends with the process. */
export function openTemporary(): Database {
  const db = new Sqlite('')
  db.pragma('synchronous = OFF')
  db.pragma('journal_mode = MEMORY')
  db.exec(tables)
  return db
}

/**
 * Opens or creates the file, readable by its owner only and locked against other processes. A commit is on disk when
 * the call returns. Files of other programs are left unchanged.
 *
 * @throws InboxError `database_in_use`, `database_newer`, `database_older`, `database_corrupt` or `config_invalid`
 */
export function openDatabase(file: string): Database {
  createPrivateFile(file)
  const db = new Sqlite(file, { timeout: 0 })
  try {
    // Before the first read: the lock is taken with it and ends with the process, however that dies.
    db.pragma('locking_mode = EXCLUSIVE')
    const version = Number(db.pragma('user_version', { simple: true }))
    if (version > format) {
      throw new InboxError(
        'database_newer',
        `${file} was written by a newer version (format ${version}, expected ${format}). Run the newer version, or ` +
          'choose another file',
      )
    }
    if (version > 0 && version < format) {
      throw new InboxError(
        'database_older',
        `${file} was written by an earlier version with another format. Delete it, or choose another file, to start over`,
      )
    }
    // Before WAL mode: the main file carries the application id from its first commit.
    if (version === 0)
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

/** Creates a missing file and its folder, but no parents: a mistyped path must not create a tree of folders. */
function createPrivateFile(file: string): void {
  try {
    if (existsSync(file)) expectDataFile(file)
    else {
      const folder = dirname(file)
      if (!existsSync(dirname(folder))) {
        const message = `cannot create ${file}: the folder ${dirname(folder)} is missing; create it first`
        throw new InboxError('config_invalid', message)
      }
      if (!existsSync(folder)) mkdirSync(folder)
      closeSync(openSync(file, 'a', 0o600))
    }
    chmodSync(file, 0o600)
  } catch (error) {
    if (error instanceof InboxError) throw error
    throw new InboxError('config_invalid', `cannot write ${file}: ${messageOf(error)}`, { cause: error })
  }
}

const magic = 'SQLite format 3\0'
const headerBytes = 100
const applicationIdAt = 68

/** Reads the header only: opening a database that wasn't closed would change it. */
function expectDataFile(file: string): void {
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
    const message = `${file} is in use by another process: stop it, or choose another file`
    return new InboxError('database_in_use', message, { cause })
  }
  const problem = cause.code === 'SQLITE_NOTADB' ? 'is not a data file of the emulator' : 'cannot be used'
  const message = `${file} ${problem}: ${cause.message} (${cause.code}); choose another file`
  return new InboxError('database_corrupt', message, { cause })
}
