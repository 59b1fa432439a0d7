import { hash } from 'node:crypto'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import { type AccountStore, createAccounts } from './accounts/accounts.ts'
import { type PreviousRun, type WorldIdentity, openDataFile } from './data/data-file.ts'
import { createTemporaryStorage } from './data/delivery-store.ts'
import type { SavedState, SavedStates } from './data/saved-states.ts'
import type { DeliveryStore } from './deliveries/port.ts'
import { formatDuration } from './duration.ts'
import {
  type LoggedWorld,
  type OnProgress,
  createLoggedWorld,
  createWorldDriver,
  replayCommands,
} from './logged-world.ts'
import type { RandomBytes } from './random.ts'
import { type DrawnSecret, applySeed, prepareWorld } from './seed/apply-seed.ts'
import type { Seed } from './seed/schema.ts'
import { type WorldClock, advanceEnded, createWorldClock } from './world-clock.ts'
import type { World, WorldOptions } from './world/port.ts'
import { createWorld } from './world/world.ts'

export interface EmulatorStateOptions {
  readonly seed: Seed
  /** What drives the clock of the world, unless that is manual. */
  readonly base: Clock
  readonly wall: Clock
  readonly randomBytes: RandomBytes
  /** The file to keep everything in. Default: nothing outlives the process. */
  readonly dataFile?: string
  /** Awaited before a clock that is advanced moves on. */
  readonly settle: () => Promise<void> | undefined
  /** Called after a webhook or an alert has gone. */
  readonly onEndpointGone: () => void
  /** Called when the accounts are there, before the state is kept that a reset leads back to. */
  readonly prepare: (isNew: boolean) => void
  /** Called after everything was put back to a saved state. */
  readonly onRestore: () => void
  readonly log: Logger
}

export interface Begun {
  /** Whether the world was made now, or is one that was left behind. */
  readonly isNew: boolean
  /** What was drawn for it; it is not shown again. */
  readonly drawn: readonly DrawnSecret[]
  /** The world may have been seen as of this moment by a process before, but of none later until `takenUpAt`. */
  readonly reachedAt: number
  readonly takenUpAt: number
}

/** The world, its clock and the accounts, kept over restarts if there is a file. */
export interface EmulatorState {
  readonly world: LoggedWorld
  readonly clock: WorldClock
  readonly accounts: AccountStore
  /** A world of its own in the same state: what happens in it is told to nobody. */
  copyWorld(): World
  readonly cursorSecret: string
  /** Where deliveries are kept: in the file, or for as long as the process lives. */
  readonly deliveryStore: DeliveryStore
  /** Counts how often everything was put back: what was told before is of a epoch of time that is no more. */
  epoch(): number
  /**
   * Makes the world, or takes up what was left behind, and brings it to the present. Once, before anything else. Events of that
   * are history: what arose before, or while no process was there, is sent to nobody.
   */
  begin(onProgress?: OnProgress): Promise<Begun>
  /** From now on the world goes with its clock. */
  run(): void
  /** Moves a manual clock on by `ms`. Throws `bad_request` in another mode, and if clock or world are put elsewhere meanwhile. */
  advance(ms: number): Promise<void>
  /** Keeps the state as of now under a name; gives the moment. Throws `bad_request` where too many are kept. */
  save(name: string): number
  /** Forgets what is saved under a name. False if there is nothing. */
  forget(name: string): boolean
  /** All that is saved, oldest first. */
  saved(): ReturnType<SavedStates['list']>
  /** Puts world, accounts and clock back to a saved state. False if there is none of this name. */
  restore(name: string): boolean
  /** Writes the present state to the file, and closes it. Idempotent. */
  close(): void
}

/** The state with which the world began is saved under this name. */
export const originName = 'origin'

/** Where a manual clock begins that nobody set, so that the same seed gives the same bytes. */
const manualStartAt = Date.UTC(2026, 0, 1)
const checkpointMs = 5 * 60_000
/** A process that is killed is taken up again at most this much later than it was, in time of the wall clock. */
const leadMs = 5_000
/** The same in world time: while a clock is advanced, and however fast it goes. */
const [advanceLeadMs, maxLeadMs] = [10 * 60_000, 24 * 3_600_000]
/** Beside the one with which the world began. */
const maxSavedStates = 100

/** What may be made up for at the start, at about a second a day. */
const maxLeapMs = 62 * 86_400_000

function refuseLeap(file: string, from: number, to: number): void {
  if (to - from <= maxLeapMs) return
  const [left, now] = [from, to].map((at) => new Date(at).toISOString())
  throw new InboxError(
    'config_invalid',
    `${file} holds a world that was left at ${left}, and its clock would be at ${now}: more than ${formatDuration(maxLeapMs)} would ` +
      'have to happen first. Start it with --manual-clock or --speed, which go on from there, or give another file',
  )
}

/** What a data file is compared by with the seed that it is opened for. It has a digest of the credentials only (R68). */
function identityOf({ world, accounts, tracked, thresholds, networks, stories }: Seed): WorldIdentity {
  const { seed, history, ...others } = world
  const settings = { history: formatDuration(history), ...others }
  const contents = JSON.stringify({ accounts, tracked, thresholds, networks, stories })
  return { seed, settings, contents: hash('sha256', contents) }
}

/** Opens the file and sets up everything. Throws an InboxError if the file cannot be used. */
export function createEmulatorState(options: EmulatorStateOptions): EmulatorState {
  const { seed, base, wall, randomBytes, settle, onEndpointGone, prepare, onRestore, log } = options
  const { seed: name, startAt: pinnedAt, history, ...settings } = seed.world
  const begunAt = (seed.clock.mode === 'manual' ? manualStartAt : base.now()) - history
  const data =
    options.dataFile === undefined
      ? null
      : openDataFile({
          file: options.dataFile,
          identity: identityOf(seed),
          startAt: pinnedAt ?? begunAt,
          randomBytes,
          leadMs: () => (advances > 0 ? advanceLeadMs : Math.min(clock.state().speed * leadMs, maxLeadMs)),
        })
  const startAt = data?.startAt ?? pinnedAt ?? begunAt
  const worldOptions: WorldOptions = { seed: name, startAt, ...settings }
  const inner = createWorld(worldOptions)
  const clock = createWorldClock({
    base,
    ...seed.clock,
    startAt,
    settle,
    standAt,
    onError: (error) => log.error({ error: messageOf(error) }, 'what was due in the world failed'),
  })
  const world = createLoggedWorld({
    world: inner,
    now: () => clock.now(),
    onChange: () => driver.changed(),
    ...(data !== null && { log: { ...data, reach: (at) => isBegun && data.reach(at) } }),
  })
  const driver = createWorldDriver({ world, clock, wall })
  const storage = data ?? createTemporaryStorage()
  const { states, deliveries: deliveryStore } = storage
  const accounts = createAccounts({
    clock,
    randomBytes,
    execute: (command, change) => void world.execute(command, change),
    onEndpointGone,
    isOneShot: seed.alerts.oneShot,
    ...(data !== null && { save: (change) => data.save(change) }),
  })
  const isPinned = pinnedAt !== null
  let checkpointTimer: Timer | undefined
  let isBegun = false
  /** How many are under way. */
  let advances = 0
  let epoch = data?.epoch() ?? 0
  let savedSeq = -1
  let isClosed = false

  function present(): SavedState {
    return { at: inner.now(), accounts: accounts.state(), world: inner.snapshot() }
  }

  async function make(onProgress?: OnProgress): Promise<readonly DrawnSecret[]> {
    prepareWorld(seed, world.acts)
    clock.moveTo(isPinned || seed.clock.mode === 'manual' ? startAt + history : base.now())
    await driver.catchUp(onProgress)
    const drawn = applySeed(seed, accounts, world.acts)
    prepare(true)
    states.put(originName, present())
    return drawn
  }

  async function takeUp(left: PreviousRun, onProgress?: OnProgress): Promise<number> {
    accounts.restore(left.accounts)
    inner.restore(left.checkpoint.world)
    await replayCommands(world, left.commands, (command) => void inner.acts.apply(command), onProgress)
    const isWithWall = seed.clock.mode === 'real' && !isPinned
    const takenUpAt = Math.max(left.reachedAt, isWithWall ? base.now() : 0)
    refuseLeap(options.dataFile ?? '', left.reachedAt, takenUpAt)
    clock.moveTo(takenUpAt)
    await driver.catchUp(onProgress)
    prepare(false)
    return takenUpAt
  }

  /** A world that could not keep up with its clock is where it is: the clock stands there, so that answers and dates agree. */
  function standAt(at: number): number {
    world.advanceTo(at)
    const standsAt = Math.min(at, world.now())
    noteStanding(standsAt)
    return standsAt
  }

  /** Without the time by which the moment that is noted runs ahead. */
  function noteStanding(at: number): void {
    if (isBegun && !isClosed) data?.stand(at)
  }

  async function advance(ms: number): Promise<void> {
    const epoch = clock.epoch()
    advances++
    try {
      await clock.advance(ms)
      await driver.catchUp()
    } finally {
      advances--
      if (advances === 0) noteStanding(clock.now())
    }
    if (clock.epoch() !== epoch) throw advanceEnded()
  }

  function save(as: string): number {
    const others = states.list().filter((state) => state.name !== as && state.name !== originName)
    if (others.length >= maxSavedStates) {
      throw new InboxError(
        'bad_request',
        `${maxSavedStates} states are saved, no more can be; delete one, or save over one`,
      )
    }
    const state = present()
    states.put(as, state)
    return state.at
  }

  function checkpoint(): void {
    // A world that was not completed is made anew the next time.
    if (data === null || !isBegun || savedSeq === world.seq()) return
    data.checkpoint(present())
    savedSeq = world.seq()
  }

  function checkpointLater(): void {
    checkpointTimer = wall.after(checkpointMs, () => {
      try {
        checkpoint()
      } catch (error) {
        log.error({ error: messageOf(error) }, 'the world could not be saved')
      }
      checkpointLater()
    })
  }

  function close(): void {
    isClosed = true
    driver.stop()
    checkpointTimer?.cancel()
    const nextAt = world.nextAt()
    const standsAt = nextAt !== null && nextAt <= clock.now() ? world.now() : clock.now()
    // Whoever is advancing it stops.
    clock.moveTo(standsAt)
    try {
      checkpoint()
      if (isBegun) data?.stand(standsAt)
    } finally {
      storage.close()
    }
  }

  return {
    world,
    clock,
    accounts,
    copyWorld() {
      const copy = createWorld(worldOptions)
      copy.restore(inner.snapshot())
      return copy
    },
    epoch: () => epoch,
    deliveryStore,
    cursorSecret: data?.secret ?? Buffer.from(randomBytes(32)).toString('base64url'),
    async begin(onProgress) {
      const left = data?.previousRun() ?? null
      const begun =
        left === null
          ? { isNew: true, drawn: await make(onProgress), reachedAt: clock.now(), takenUpAt: clock.now() }
          : { isNew: false, drawn: [], reachedAt: left.reachedAt, takenUpAt: await takeUp(left, onProgress) }
      data?.stand(clock.now())
      isBegun = true
      checkpoint()
      return begun
    },
    run() {
      driver.start()
      if (data !== null) checkpointLater()
    },
    advance,
    save,
    forget: (as) => states.remove(as),
    saved: () => states.list(),
    restore(from) {
      const state = states.get(from)
      if (state === null) return false
      data?.replace(state)
      epoch = data?.epoch() ?? epoch + 1
      accounts.restore(state.accounts)
      inner.restore(state.world)
      clock.moveTo(state.at)
      driver.changed()
      onRestore()
      return true
    },
    close() {
      if (!isClosed) close()
    },
  }
}
