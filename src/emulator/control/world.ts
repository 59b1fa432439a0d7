import { z } from 'zod'
import { eventTypes } from '../../../schema/index.ts'
import type { EmulatorState } from '../emulator-state.ts'
import { commandBodies } from '../world/port.ts'
import type { WorldCommand, WorldEvent } from '../world/port.ts'
import type { World } from '../world/world.ts'
import { route, toTime, type Route } from './route.ts'
import { limit, wholeNumber } from '../values.ts'

const commandRoutes = Object.entries(commandBodies).map(([kind, body]) =>
  route('POST', `/world/${kind}`, {
    body: body as z.ZodType<object>,
    answer: ({ state }, call) => state.world.commands.apply({ kind, ...call.body } as WorldCommand),
  }),
)

const eventsQuery = z.strictObject({
  after: z.exactOptional(wholeNumber),
  limit: limit.prefault('100'),
  type: z.exactOptional(z.enum(eventTypes)),
  order: z.enum(['oldest', 'newest']).prefault('oldest'),
})

/** The digest covers the whole world, so it is computed on request only. */
const worldQuery = z.strictObject({ digest: z.exactOptional(z.literal('1')) })

/** Events in this order, after (or before) number `after`. Read singly, because most are not needed. */
function* eventsInOrder(world: World, order: 'oldest' | 'newest', after: number | undefined): Generator<WorldEvent> {
  const last = world.lastEvent()
  const [first, step] = order === 'oldest' ? [(after ?? 0) + 1, 1] : [Math.min(after ?? Infinity, last + 1) - 1, -1]
  for (let seq = first; seq >= 1 && seq <= last; seq += step) yield* world.eventsAfter(seq - 1, 1)
}

const shownTokens = 100

export type ShownWorld = ReturnType<typeof toWorld>

function toWorld(state: EmulatorState, isWithDigest: boolean) {
  const world = present(state)
  const { views } = world
  const tokens = views.tokens()
  return {
    now: toTime(world.now()),
    seq: world.seq(),
    ...(isWithDigest && { digest: world.digest() }),
    counts: { tokens: tokens.length, wallets: views.wallets().length },
    trackedWallets: views.trackedWallets().map(({ network, address }) => ({ network, address })),
    newestTokens: tokens.slice(-shownTokens).map((token) => {
      const { network, address, symbol, name, price_usd } = views.token(token)
      return { network, address, symbol, name, price_usd }
    }),
  }
}

/** Returns the world, brought to the present. */
function present({ world, clock }: Pick<EmulatorState, 'world' | 'clock'>): World {
  world.advanceTo(clock.now())
  return world
}

/** The world: summary, commands, events and thresholds. */
export const worldRoutes: readonly Route[] = [
  route('GET', '/world', {
    query: worldQuery,
    answer: ({ state }, { query }) => toWorld(state, query.digest === '1'),
  }),
  ...commandRoutes,
  route('GET', '/events', {
    query: eventsQuery,
    answer: ({ state: { world } }, { query: { after, limit, type, order } }) =>
      eventsInOrder(world, order, after)
        .filter(({ event }) => type === undefined || event.type === type)
        .take(limit)
        .toArray(),
  }),
  route('GET', '/thresholds', { answer: ({ state }) => state.world.views.thresholds() }),
]
