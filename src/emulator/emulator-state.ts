import { hash } from 'node:crypto'
import type { Clock, Timer } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import { createAccounts } from './accounts/accounts.ts'
import { type DataFile, type SavedState, readDataFile, writeDataFile } from './data-file.ts'
import { createDeliveryStore } from './deliveries/store.ts'
import { formatDuration } from './duration.ts'
import { type OnProgress, createPacedWorld } from './paced-world.ts'
import type { RandomBytes } from './random.ts'
import { type DrawnSecret, applySeed, prepareWorld } from './seed/apply-seed.ts'
import type { Seed } from './seed/schema.ts'
import { advanceEnded, createWorldClock } from './world-clock.ts'
import { createWorld } from './world/world.ts'

export interface EmulatorStateOptions {
  readonly seed: Seed
  /** Drives the world clock unless its mode is manual. */
  readonly base: Clock
  readonly wall: Clock
  readonly randomBytes: RandomBytes
  /** Undefined: the state ends with the process. */
  readonly dataFile: string | undefined
  /** Awaited between two steps of an advancing clock. */
  readonly settle: () => Promise<void> | undefined
  /** Called after a webhook or an alert is deleted. */
  readonly onEndpointDeleted: () => void
  /** Called once the accounts exist, before the state that a reset restores is saved. */
  readonly prepare: (isNew: boolean) => void
  /** Called after a saved state is restored. */
  readonly onRestore: () => void
  readonly log: Logger
}

export interface Begun {
  /** True if the world is new; false if it was loaded from the data file. */
  readonly isNew: boolean
  /** Generated secrets. They can't be shown again. */
  readonly drawn: readonly DrawnSecret[]
}

/** Name of the saved state that a reset restores: the world as it began. */
export const originName = 'origin'

/** Start of a manual clock without `startAt`. It is fixed, so that the same seed gives the same bytes. */
const manualStartAt = Date.UTC(2026, 0, 1)
/** Interval between two writes of the data file, in wall-clock time. */
const saveMs = 60_000

/** Settings that determine a world. Credentials are among them as a digest only (R68). */
function identityOf({ world, accounts, tracked, thresholds, networks, stories }: Seed): DataFile['identity'] {
  return {
    ...world,
    history: formatDuration(world.history),
    'digest of accounts, tracked wallets, thresholds, networks and stories': hash(
      'sha256',
      JSON.stringify({ accounts, tracked, thresholds, networks, stories }),
    ),
  }
}

export type EmulatorState = ReturnType<typeof createEmulatorState>

/**
 * World, clock, accounts and stored deliveries. With a data file they survive a restart: it is read here, and written
 * at the start, every minute and at the end. Throws InboxError if the file can't be used.
 */
export function createEmulatorState(options: EmulatorStateOptions) {
  const { seed, base, wall, randomBytes, dataFile: file, settle, onEndpointDeleted, prepare, onRestore, log } = options
  const { seed: name, startAt: pinnedAt, history, ...settings } = seed.world
  const identity = identityOf(seed)
  let previous = file === undefined ? null : readDataFile(file, identity)
  const isManual = seed.clock.mode === 'manual'
  const startAt = previous?.startAt ?? pinnedAt ?? (isManual ? manualStartAt : base.now()) - history
  const secret = previous?.secret ?? Buffer.from(randomBytes(32)).toString('base64url')
  const states = new Map(previous?.states)
  const deliveryStore = createDeliveryStore(previous?.deliveries)
  const onError = (error: unknown) => log.error({ error: messageOf(error) }, 'world task failed')
  const clock = createWorldClock({
    base,
    ...seed.clock,
    startAt,
    settle,
    stopAt,
    onError,
  })
  const world = createPacedWorld(createWorld({ seed: name, startAt, ...settings }), clock)
  const accounts = createAccounts({
    clock,
    randomBytes,
    execute: (command) => void world.commands.apply(command),
    onEndpointDeleted,
    isOneShot: seed.alerts.oneShot,
  })
  let epoch = previous?.epoch ?? 0
  let saveTimer: Timer | undefined
  let isRunning = false
  let isClosed = false

  /** The world may lag behind its clock. Stops the clock where the world is, so that responses and dates agree. */
  function stopAt(at: number): number {
    try {
      world.advanceTo(at)
    } catch (error) {
      onError(error)
    }
    return Math.min(at, world.now())
  }

  function present(): SavedState {
    const at = stopAt(clock.now())
    return { at, accounts: accounts.state(), world: world.snapshot() }
  }

  function load(state: SavedState): void {
    accounts.restore(state.accounts)
    clock.moveTo(state.at)
    world.restore(state.world)
  }

  async function createInitial(onProgress?: OnProgress): Promise<readonly DrawnSecret[]> {
    prepareWorld(seed, world.commands)
    clock.moveTo(pinnedAt !== null || isManual ? startAt + history : base.now())
    await world.catchUp(onProgress)
    const drawn = applySeed(seed, accounts, world.commands)
    prepare(true)
    states.set(originName, present())
    return drawn
  }

  /** A world on the wall clock catches up with it. Any other continues where it stopped. */
  async function resume({ current }: DataFile, onProgress?: OnProgress): Promise<void> {
    load(current)
    if (seed.clock.mode === 'real' && pinnedAt === null) clock.moveTo(Math.max(current.at, base.now()))
    await world.catchUp(onProgress)
    prepare(false)
  }

  function writeFile(): void {
    if (file === undefined) return
    // First: events that are due now arise, and their deliveries are pending.
    const current = present()
    writeDataFile(file, { identity, startAt, secret, epoch, states, current, deliveries: deliveryStore.all() })
  }

  function writeFileLater(): void {
    saveTimer = wall.after(saveMs, () => {
      try {
        writeFile()
      } catch (error) {
        log.error({ error: messageOf(error) }, 'writing the data file failed')
      }
      writeFileLater()
    })
  }

  return {
    world,
    clock,
    accounts,
    /** Number of restores so far. Cursors and deliveries of an earlier epoch are void. */
    epoch: () => epoch,
    deliveryStore,
    cursorSecret: secret,
    /**
     * Creates the world or loads the previous one, and brings it to the present. Call it once, before anything else.
     * Events that arise in it are history and are sent to no endpoint.
     */
    async begin(onProgress?: OnProgress): Promise<Begun> {
      if (previous === null) return { isNew: true, drawn: await createInitial(onProgress) }
      await resume(previous, onProgress)
      previous = null
      return { isNew: false, drawn: [] }
    },
    /** Writes the data file, and starts running world tasks as the clock reaches them. */
    run() {
      writeFile()
      isRunning = true
      world.start()
      if (file !== undefined) writeFileLater()
    },
    /** Advances a manual clock by `ms`. Throws `bad_request` in another mode, or if the clock is set or the world restored during the call. */
    async advance(ms: number): Promise<void> {
      const before = clock.epoch()
      await clock.advance(ms)
      await world.catchUp()
      if (clock.epoch() !== before) throw advanceEnded()
    },
    /** Saves the present state under a name; returns its world time. */
    save(stateName: string): number {
      const state = present()
      // A replaced state moves to the end of the list.
      states.delete(stateName)
      states.set(stateName, state)
      return state.at
    },
    /** Deletes a saved state. False if there is none of this name. */
    forget: (stateName: string) => states.delete(stateName),
    /** Saved states, oldest first. */
    saved: () => [...states].map(([stateName, { at }]) => ({ name: stateName, at })),
    /** Restores world, accounts and clock. False if there is no saved state of this name. */
    restore(stateName: string): boolean {
      const state = states.get(stateName)
      if (state === undefined) return false
      epoch++
      load(state)
      onRestore()
      return true
    },
    /** Stops the world and writes the data file. Idempotent. */
    close() {
      if (isClosed) return
      isClosed = true
      saveTimer?.cancel()
      world.stop()
      try {
        // A world that isn't complete is created again at the next start.
        if (isRunning) writeFile()
      } finally {
        // Ends an advance in progress.
        clock.moveTo(world.now())
      }
    },
  }
}
