import type { z } from 'zod'
import type { Account, Accounts, ApiKey } from '../accounts/port.ts'
import { originName, type Keeper } from '../keeper.ts'
import type { WorldAct } from '../world/port.ts'
import { ControlError } from './answers.ts'
import {
  accountBody,
  actBodies,
  advanceBody,
  clockBody,
  journalQuery,
  keyBody,
  stateBody,
  triggerBody,
  worldQuery,
} from './bodies.ts'
import { browseRoutes, listRoutes } from './browse.ts'
import { route, type Route } from './route.ts'

const acts = Object.entries(actBodies).map(([kind, body]) =>
  route('POST', `/world/${kind}`, {
    body: body as z.ZodType<object>,
    answer: ({ keeper }, call) => keeper.world.acts.apply({ kind, ...call.body } as WorldAct),
  }),
)

const steering: readonly Route[] = [
  ...browseRoutes,
  route('POST', '/reset', { answer: ({ keeper }) => putBack(keeper, originName) }),
  route('GET', '/snapshot', {
    answer: ({ keeper }) => keeper.saved().map(({ name, at }) => ({ name, at: toTime(at) })),
  }),
  route('POST', '/snapshot', {
    body: stateBody,
    status: 201,
    async answer({ keeper }, { body: { name } }) {
      if (name === originName)
        throw new ControlError(409, 'conflict', `${originName} is how the world began; take another name`)
      return { name, at: toTime(await keeper.save(name)) }
    },
  }),
  route('DELETE', '/snapshot/:id', {
    async answer({ keeper }, { id: name }) {
      if (name === originName) throw new ControlError(409, 'conflict', `${originName} is how the world began; it stays`)
      if (!(await keeper.forget(name))) throw noSuchState(keeper, name)
      return { name, deleted: true }
    },
  }),
  route('POST', '/restore', { body: stateBody, answer: ({ keeper }, { body: { name } }) => putBack(keeper, name) }),

  route('GET', '/clock', { answer: ({ keeper }) => toClock(keeper) }),
  route('POST', '/clock', {
    body: clockBody,
    answer({ keeper }, { body: { mode, speed } }) {
      keeper.clock.set(mode, speed)
      return toClock(keeper)
    },
  }),
  route('POST', '/clock/advance', {
    body: advanceBody,
    async answer({ keeper }, { body: { ms } }) {
      await keeper.advance(ms)
      return toClock(keeper)
    },
  }),

  route('GET', '/world', {
    query: worldQuery,
    answer: ({ keeper }, { query }) => toWorld(keeper, query.digest === '1'),
  }),
  ...acts,
  route('POST', '/trigger', {
    body: triggerBody,
    answer: ({ trigger }, { body: { type } }) => trigger(type),
  }),
  route('GET', '/deliveries', { answer: ({ deliveries }) => deliveries.counts() }),

  route('GET', '/journal', {
    query: journalQuery,
    answer: ({ journal }, { query: { limit, ...filter } }) =>
      journal.find(filter, limit).map((entry) => ({ ...entry, at: toTime(entry.at) })),
  }),
  route('DELETE', '/journal', { answer: ({ journal }) => ({ deleted: journal.clear() }) }),

  route('GET', '/accounts', {
    answer: ({ keeper: { accounts } }) => accounts.accounts().map((account) => toAccount(account, accounts)),
  }),
  route('POST', '/accounts', {
    body: accountBody,
    status: 201,
    answer: ({ keeper: { accounts } }, { body: { name, plan } }) =>
      toAccount(accounts.putAccount(name, plan), accounts),
  }),
  route('POST', '/keys', {
    body: keyBody,
    status: 201,
    answer({ keeper: { accounts } }, { body: { account: wanted, name, scopes, key } }) {
      const account = accounts.accounts().find((one) => one.accountId === wanted || one.name === wanted)
      if (account === undefined) {
        throw new ControlError(404, 'not_found', `there is no account ${wanted}; GET /_emulator/accounts lists them`)
      }
      const { value, ...made } = accounts.addKey(account.accountId, {
        name,
        scopes,
        ...(key !== undefined && { value: key }),
      })
      return { ...toKey(made), value }
    },
  }),
  route('DELETE', '/keys/:id', {
    answer({ keeper: { accounts } }, { id }) {
      const key = accounts.revokeKey(id)
      if (key === null)
        throw new ControlError(404, 'not_found', `there is no key ${id}; GET /_emulator/accounts lists them`)
      return toKey(key)
    },
  }),
]

/** Everything that is below `/_emulator`. */
export const routes: readonly Route[] = [...listRoutes(steering), ...steering]

async function putBack(keeper: Keeper, name: string) {
  if (await keeper.restore(name)) return { name, ...toClock(keeper) }
  throw noSuchState(keeper, name)
}

function noSuchState(keeper: Keeper, name: string): ControlError {
  const names = keeper.saved().map((state) => state.name)
  return new ControlError(404, 'not_found', `no state is saved as ${name}; expected one of ${names.join(', ')}`)
}

function toClock({ clock }: Keeper) {
  const { mode, speed, now } = clock.state()
  return { mode, speed, now: toTime(now) }
}

const shownTokens = 100

function toWorld({ world, clock }: Keeper, isWithDigest: boolean) {
  world.advanceTo(clock.now())
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

/** An account without anything that is secret. */
function toAccount({ accountId, name, plan }: Account, accounts: Accounts) {
  return {
    accountId,
    name,
    plan,
    keys: accounts.keys(accountId).map(toKey),
    webhooks: accounts.webhooks(accountId).map(({ webhookId, url, events }) => ({ webhookId, url, events })),
    alerts: accounts.alerts(accountId).length,
  }
}

function toKey({ keyId, accountId, name, scopes, createdAt, revokedAt }: ApiKey) {
  const times = { createdAt: toTime(createdAt), revokedAt: revokedAt === null ? null : toTime(revokedAt) }
  return { keyId, accountId, name, scopes, ...times }
}

function toTime(at: number): string {
  return new Date(at).toISOString()
}
