import type { Account, Accounts, ApiKey } from '../accounts/port.ts'
import { ControlError } from './answers.ts'
import { accountBody, keyBody } from './bodies.ts'
import { route, type Route } from './route.ts'
import { findAccount, toTime } from './shown.ts'

/** Accounts and their API keys (R67–R69). */
export const accountRoutes: readonly Route[] = [
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
      const { value, ...made } = accounts.addKey(findAccount(accounts, wanted).accountId, {
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

export type ShownAccount = ReturnType<typeof toAccount>
export type ShownKey = ReturnType<typeof toKey>

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
