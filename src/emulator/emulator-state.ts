import { hash } from 'node:crypto'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import { createAccounts } from './accounts/accounts.ts'
import { type PreviousRun, type WorldIdentity, openDataFile } from './data/data-file.ts'
import type { SavedState } from './data/saved-states.ts'
import { formatDuration } from './duration.ts'
import { type OnProgress, createLoggedWorld } from './logged-world.ts'
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
  /** Latest world time that clients of the previous process may have seen. */
  readonly reachedAt: number
  /** World time at which this process continues. Nothing between `reachedAt` and `takenUpAt` was seen. */
  readonly takenUpAt: number
}

/** Name of the saved state that a reset restores: the world as it began. */
export const originName = 'origin'

/** Start of a manual clock without `startAt`. It is fixed, so that the same seed gives the same bytes. */
const manualStartAt = Date.UTC(2026, 0, 1)
const checkpointMs = 5 * 60_000
/** How far the recorded moment may be ahead of the world, in wall-clock time. After a kill the world skips at most this much. */
const leadMs = 5_000
/** This lead in world time: while a manual clock advances, and the maximum for a scaled clock. */
const [advanceLeadMs, maxLeadMs] = [10 * 60_000, 24 * 3_600_000]

/** Longest gap that a start simulates, at about a second per day. */
const maxGapMs = 62 * 86_400_000

function expectShortGap(file: string, from: number, to: number): void {
  if (to - from <= maxGapMs) return
  const [stopped, now] = [from, to].map((at) => new Date(at).toISOString())
  throw new InboxError(
    'config_invalid',
    `${file}: its world stopped at ${stopped}; catching up to ${now} would simulate more than ${formatDuration(maxGapMs)}. ` +
      'Start with --manual-clock or --speed to continue from there, or choose another file',
  )
}

/** Identity of the seed's world, to compare with the data file's. Credentials enter it as a digest only (R68). */
function identityOf({ world, accounts, tracked, thresholds, networks, stories }: Seed): WorldIdentity {
  const { seed, history, ...others } = world
  const settings = { history: formatDuration(history), ...others }
  const contents = JSON.stringify({ accounts, tracked, thresholds, networks, stories })
  return { seed, settings, contents: hash('sha256', contents) }
}

export type EmulatorState = ReturnType<typeof createEmulatorState>

/** Opens the data file, if any, and creates world, clock and accounts, which survive restarts in it. Throws InboxError if the file can't be used. */
export function createEmulatorState(options: EmulatorStateOptions) {
  const { seed, base, wall, randomBytes, dataFile: file, settle, onEndpointDeleted, prepare, onRestore, log } = options
  const { seed: name, startAt: pinnedAt, history, ...settings } = seed.world
  const begunAt = pinnedAt ?? (seed.clock.mode === 'manual' ? manualStartAt : base.now()) - history
  const data = openDataFile({ file, identity: identityOf(seed), startAt: begunAt, randomBytes, wall, log })
  const { startAt, states } = data
  const clock = createWorldClock({
    base,
    ...seed.clock,
    startAt,
    settle,
    stopAt,
    onError: (error) => log.error({ error: messageOf(error) }, 'world task failed'),
  })
  const world = createLoggedWorld({
    world: createWorld({ seed: name, startAt, ...settings }),
    clock,
    wall,
    log: {
      ...data,
      reach(at) {
        const lead = advances > 0 ? advanceLeadMs : Math.min(clock.state().speed * leadMs, maxLeadMs)
        if (isBegun) data.reach(at, lead)
      },
    },
  })
  const accounts = createAccounts({
    clock,
    randomBytes,
    execute: (command, state) => void world.execute(command, state),
    onEndpointDeleted,
    isOneShot: seed.alerts.oneShot,
    save: data.save,
  })
  let checkpointTimer: Timer | undefined
  let isBegun = false
  /** Advances in progress. */
  let advances = 0
  let savedSeq = -1
  let isClosed = false

  function present(): SavedState {
    return { at: world.now(), accounts: accounts.state(), world: world.snapshot() }
  }

  async function createInitial(onProgress?: OnProgress): Promise<readonly DrawnSecret[]> {
    prepareWorld(seed, world.commands)
    clock.moveTo(pinnedAt !== null || seed.clock.mode === 'manual' ? startAt + history : base.now())
    await world.catchUp(onProgress)
    const drawn = applySeed(seed, accounts, world.commands)
    prepare(true)
    states.put(originName, present())
    return drawn
  }

  async function continuePrevious(previous: PreviousRun, onProgress?: OnProgress): Promise<number> {
    accounts.restore(previous.accounts)
    world.restore(previous.checkpoint.world)
    await world.replay(previous.commands, onProgress)
    const followsWallClock = seed.clock.mode === 'real' && pinnedAt === null
    const takenUpAt = Math.max(previous.reachedAt, followsWallClock ? base.now() : 0)
    expectShortGap(file ?? '', previous.reachedAt, takenUpAt)
    clock.moveTo(takenUpAt)
    await world.catchUp(onProgress)
    prepare(false)
    return takenUpAt
  }

  /** The world may lag behind its clock. Stops the clock where the world is, so that responses and dates agree. */
  function stopAt(at: number): number {
    world.advanceTo(at)
    const stoppedAt = Math.min(at, world.now())
    recordReached(stoppedAt)
    return stoppedAt
  }

  /** Records the exact moment, without the lead. */
  function recordReached(at: number): void {
    if (isBegun && !isClosed) data.recordReached(at)
  }

  function checkpoint(): void {
    // An incomplete world is created again at the next start.
    if (file === undefined || !isBegun || savedSeq === world.seq()) return
    data.checkpoint(present())
    savedSeq = world.seq()
  }

  function checkpointLater(): void {
    checkpointTimer = wall.after(checkpointMs, () => {
      try {
        checkpoint()
      } catch (error) {
        log.error({ error: messageOf(error) }, 'checkpoint failed')
      }
      checkpointLater()
    })
  }

  return {
    world,
    clock,
    accounts,
    /** Number of restores so far. Cursors and deliveries of an earlier epoch are void. */
    epoch: data.epoch,
    deliveryStore: data.deliveries,
    cursorSecret: data.secret,
    /**
     * Creates the world or loads the previous one, and brings it to the present. Call it once, before anything else.
     * Events that arise in it are history and are sent to no endpoint.
     */
    async begin(onProgress?: OnProgress): Promise<Begun> {
      const previous = data.previousRun()
      const begun =
        previous === null
          ? { isNew: true, drawn: await createInitial(onProgress), reachedAt: clock.now(), takenUpAt: clock.now() }
          : {
              isNew: false,
              drawn: [],
              reachedAt: previous.reachedAt,
              takenUpAt: await continuePrevious(previous, onProgress),
            }
      data.recordReached(clock.now())
      isBegun = true
      checkpoint()
      return begun
    },
    /** Starts running world tasks as the clock reaches them. */
    run() {
      world.start()
      if (file !== undefined) checkpointLater()
    },
    /** Advances a manual clock by `ms`. Throws `bad_request` in another mode, or if the clock is set or the world restored during the call. */
    async advance(ms: number): Promise<void> {
      const epoch = clock.epoch()
      advances++
      try {
        await clock.advance(ms)
        await world.catchUp()
      } finally {
        advances--
        if (advances === 0) recordReached(clock.now())
      }
      if (clock.epoch() !== epoch) throw advanceEnded()
    },
    /** Saves the present state under a name; returns its world time. */
    save(stateName: string): number {
      const state = present()
      states.put(stateName, state)
      return state.at
    },
    /** Deletes a saved state. False if there is none of this name. */
    forget: states.remove,
    /** Saved states, oldest first. */
    saved: states.list,
    /** Restores world, accounts and clock. False if there is no saved state of this name. */
    restore(stateName: string): boolean {
      const state = states.get(stateName)
      if (state === null) return false
      data.replace(state)
      accounts.restore(state.accounts)
      clock.moveTo(state.at)
      world.restore(state.world)
      onRestore()
      return true
    },
    /** Writes a checkpoint and closes the file. Idempotent. */
    close() {
      if (isClosed) return
      isClosed = true
      world.stop()
      checkpointTimer?.cancel()
      const nextAt = world.nextAt()
      const stoppedAt = nextAt !== null && nextAt <= clock.now() ? world.now() : clock.now()
      // Ends an advance in progress.
      clock.moveTo(stoppedAt)
      try {
        checkpoint()
        if (isBegun) data.recordReached(stoppedAt)
      } finally {
        data.close()
      }
    },
  }
}
