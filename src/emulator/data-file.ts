import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { InboxError, messageOf } from '../base/errors.ts'
import type { AccountsState } from './accounts/accounts.ts'
import type { Delivery } from './deliveries/delivery.ts'
import type { WorldSnapshot } from './world/port.ts'

/** The world and the accounts as of one moment. */
export interface SavedState {
  /** World time. */
  readonly at: number
  readonly accounts: AccountsState
  readonly world: WorldSnapshot
}

/** Everything that survives a restart. */
export interface DataFile {
  /** Settings that determine the world, by name, in a form that error messages can show. They never change. */
  readonly identity: Readonly<Record<string, unknown>>
  /** Start of the world's history. */
  readonly startAt: number
  /** Signs the cursors of this world. */
  readonly secret: string
  /** Number of restores so far. */
  readonly epoch: number
  /** Saved states by name, oldest first. */
  readonly states: ReadonlyMap<string, SavedState>
  readonly current: SavedState
  /** Oldest first. */
  readonly deliveries: readonly Delivery[]
}

/** Version of the data and of the world's rules. */
const format = 'onchain-inbox emulator 6'

/**
 * Reads a data file; null if it doesn't exist or is empty. Creates a missing folder.
 *
 * @throws InboxError `config_invalid` if the file can't be read or written, or belongs to another version or world
 */
export function readDataFile(file: string, identity: DataFile['identity']): DataFile | null {
  const bytes = readBytes(file)
  if (bytes.length === 0) return null
  const contents = parse(bytes) as (DataFile & { readonly format: string }) | null
  if (contents?.format !== format) {
    const advice = 'choose another file, or delete it to start anew'
    throw new InboxError('config_invalid', `${file} is no data file of this version of the emulator: ${advice}`)
  }
  expectSame(file, contents.identity, identity)
  // Copies: bytes that were read are views of the whole file, and would keep it in memory.
  const copyOf = ({ world, ...state }: SavedState) => ({
    ...state,
    world: { ...world, state: Buffer.from(world.state) },
  })
  return {
    ...contents,
    states: new Map(contents.states.entries().map(([name, state]) => [name, copyOf(state)])),
    current: copyOf(contents.current),
    deliveries: contents.deliveries.map((delivery) => ({ ...delivery, body: Buffer.from(delivery.body) })),
  }
}

/**
 * Replaces the file in one step, readable by its owner only. Trades that saved states share are written once.
 *
 * @throws InboxError `config_invalid`
 */
export function writeDataFile(file: string, contents: DataFile): void {
  const temporary = `${file}.tmp`
  try {
    writeFileSync(temporary, serialize({ format, ...contents }), { mode: 0o600, flush: true })
    renameSync(temporary, file)
  } catch (error) {
    throw new InboxError('config_invalid', `cannot write the data file ${file}: ${messageOf(error)}`, { cause: error })
  }
}

function readBytes(file: string): Buffer {
  try {
    const folder = dirname(file)
    // Not its parents: a mistyped path must not create a tree of folders.
    if (!existsSync(folder)) mkdirSync(folder)
    accessSync(folder, constants.W_OK)
    if (!existsSync(file)) return Buffer.alloc(0)
    if (statSync(file).isFile()) return readFileSync(file)
    throw new Error('it is not a regular file')
  } catch (error) {
    throw new InboxError('config_invalid', `cannot use the data file ${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** Null if the bytes are no serialized value. */
function parse(bytes: Buffer): unknown {
  try {
    return deserialize(bytes)
  } catch {
    return null
  }
}

function expectSame(file: string, stored: DataFile['identity'], wanted: DataFile['identity']): void {
  const differences = Object.keys({ ...stored, ...wanted }).flatMap((name) => {
    const [inFile, inSettings] = [stored, wanted].map((identity) => JSON.stringify(identity[name]))
    return inFile === inSettings ? [] : [`${name} is ${inFile} in the file, ${inSettings} in the settings`]
  })
  if (differences.length === 0) return
  throw new InboxError(
    'config_invalid',
    `${file} belongs to another world: ${differences.join('; ')}. Use the same settings, or choose another file`,
  )
}
