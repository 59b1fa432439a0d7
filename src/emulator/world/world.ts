import { createActs } from './acts.ts'
import { createChance } from './chance.ts'
import { eventsAfter, type Core } from './core.ts'
import { runUntil } from './course.ts'
import { emptyState, populate } from './genesis.ts'
import { readActivity } from './pace.ts'
import type { World, WorldOptions } from './port.ts'
import { digestOf, restoreSnapshot, takeSnapshot } from './snapshot.ts'
import { emptyDirectory } from './directory.ts'
import { TradeLog } from './trade-log.ts'
import { createTxHashes } from './tx-hashes.ts'
import { createViews } from './views.ts'

/**
 * A world of seven networks in which wallets trade tokens: a discrete-event simulation from which all events arise and
 * that all answers read. The same options and the same acts at the same moments give the same world, byte for byte.
 *
 * @example
 * const world = createWorld({ seed: 'demo', startAt: Date.UTC(2026, 0, 1) })
 * world.onEvent(({ event }) => console.log(event.type))
 * world.advanceTo(world.now() + 3_600_000)
 */
export function createWorld(options: WorldOptions): World {
  const full = {
    activity: 1,
    pnlMode: 'closed',
    graduationAlsoLists: true,
    whaleUsd: 1_000_000,
    whaleSupplyPct: 1,
    ...options,
  } as const
  const core: Core = {
    options: full,
    chance: createChance(full.seed),
    txHash: createTxHashes(full.seed),
    state: emptyState(full.startAt, readActivity(full.activity)),
    trades: new TradeLog(),
    directory: emptyDirectory(),
    unjudged: null,
    listeners: new Set(),
  }
  populate(core)

  return {
    now: () => core.state.now,
    seq: () => core.state.seq,
    nextAt: () => core.state.agenda[0]?.at ?? null,
    advanceTo: (at) => runUntil(core, Math.floor(at)),
    onEvent(fn) {
      core.listeners.add(fn)
      return () => void core.listeners.delete(fn)
    },
    eventsAfter: (after, limit) => eventsAfter(core, after, limit),
    lastEvent: () => core.state.events.length,
    digest: () => digestOf(core),
    views: createViews(core),
    acts: createActs(core),
    snapshot: () => takeSnapshot(core),
    restore: (snapshot) => restoreSnapshot(core, snapshot),
  }
}
