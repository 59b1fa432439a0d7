import type { z } from 'zod'
import type { Keeper } from '../keeper.ts'
import type { WorldAct } from '../world/port.ts'
import { accountRoutes } from './account-routes.ts'
import { actBodies, journalQuery, worldQuery } from './bodies.ts'
import { browseRoutes, listRoutes } from './browse.ts'
import { clockRoutes } from './clock-routes.ts'
import { deliveryRoutes } from './delivery-routes.ts'
import { endpointRoutes } from './endpoint-routes.ts'
import { explorerRoutes } from './explorer-routes.ts'
import { faultRoutes } from './fault-routes.ts'
import { route, type Route } from './route.ts'
import { sessionRoutes } from './session-routes.ts'
import { present, toTime } from './shown.ts'
import { streamRoutes } from './stream-routes.ts'
import { triggerRoutes } from './trigger-routes.ts'

const acts = Object.entries(actBodies).map(([kind, body]) =>
  route('POST', `/world/${kind}`, {
    body: body as z.ZodType<object>,
    answer: ({ keeper }, call) => keeper.world.acts.apply({ kind, ...call.body } as WorldAct),
  }),
)

const steering: readonly Route[] = [
  ...sessionRoutes,
  ...browseRoutes,
  ...explorerRoutes,
  ...streamRoutes,
  ...clockRoutes,
  route('GET', '/world', {
    query: worldQuery,
    answer: ({ keeper }, { query }) => toWorld(keeper, query.digest === '1'),
  }),
  ...acts,
  ...triggerRoutes,
  ...deliveryRoutes,
  ...faultRoutes,

  route('GET', '/journal', {
    query: journalQuery,
    answer: ({ journal }, { query: { limit, ...filter } }) =>
      journal.find(filter, limit).map((entry) => ({ ...entry, at: toTime(entry.at) })),
  }),
  route('DELETE', '/journal', { answer: ({ journal }) => ({ deleted: journal.clear() }) }),

  ...accountRoutes,
  ...endpointRoutes,
]

/** Everything that is below `/_emulator`. */
export const routes: readonly Route[] = [...listRoutes(steering), ...steering]

const shownTokens = 100

export type ShownWorld = ReturnType<typeof toWorld>

function toWorld(keeper: Keeper, isWithDigest: boolean) {
  const world = present(keeper)
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
