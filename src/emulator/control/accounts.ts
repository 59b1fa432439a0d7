import { z } from 'zod'
import { newWebhook } from '../../../schema/rest/webhook.ts'
import {
  planLimits,
  type Account,
  type Accounts,
  type Alert,
  type ApiKey,
  type Plan,
  type Webhook,
} from '../accounts/accounts.ts'
import { drawSecret } from '../random.ts'
import { HttpError } from '../rest/error.ts'
import { alertShape, keySchema } from '../seed/schema.ts'
import { route, toTime, type Route } from './route.ts'
import { canonical, lineOf } from '../values.ts'

const name = lineOf('a name', 64)
const plans = Object.keys(planLimits) as [Plan, ...Plan[]]
const accountBody = z.strictObject({ name, plan: z.enum(plans) })
const accountProblem = 'expected the id or the name of an account'
const namedAccount = z.string({ error: accountProblem }).min(1, accountProblem)
/** Default: the first account. */
const account = z.exactOptional(namedAccount)
const keyBody = z.strictObject({ account: namedAccount, ...keySchema.shape })

// Schemas of the REST service: both APIs reject the same input.
const { url, events, secret } = newWebhook.shape

const webhookBody = z.strictObject({ account, url, events, secret })

const webhookChangeBody = z
  .strictObject({ url: url.optional(), events: events.optional(), secret })
  .refine((change) => Object.keys(change).length > 0, 'expected at least one of url, events and secret')

const alertBody = z.strictObject({ account, ...alertShape }).transform(canonical('address'))

const accountChoiceBody = z.strictObject({ account })

/** Accounts with API keys (R67–R69), webhooks and alerts (R60–R63, R76, R77, A22–A26). Generated secrets are shown once. */
export const accountRoutes: readonly Route[] = [
  route('GET', '/accounts', {
    answer: ({ state: { accounts } }) => accounts.accounts().map((account) => toAccount(account, accounts)),
  }),
  route('POST', '/accounts', {
    body: accountBody,
    status: 201,
    answer: ({ state: { accounts } }, { body: { name, plan } }) => toAccount(accounts.putAccount(name, plan), accounts),
  }),
  route('POST', '/keys', {
    body: keyBody,
    status: 201,
    answer({ state: { accounts } }, { body: { account: idOrName, name, scopes, key } }) {
      const { accountId } = findAccount(accounts, idOrName)
      const { value, ...created } = accounts.addKey(accountId, { name, scopes, value: key })
      return { ...toKey(created), value }
    },
  }),
  route('DELETE', '/keys/:id', {
    answer({ state: { accounts } }, { id }) {
      return toKey(expectFound('key', id, accounts.revokeKey(id), 'accounts'))
    },
  }),

  route('GET', '/webhooks', { answer: ({ state: { accounts } }) => accounts.webhooks().map(toWebhook) }),
  route('POST', '/webhooks', {
    body: webhookBody,
    status: 201,
    answer({ state: { accounts } }, { body: { account, ...webhookInput } }) {
      const { webhook, isGenerated } = accounts.addWebhook(findAccount(accounts, account).accountId, webhookInput)
      return { ...toWebhook(webhook), ...(isGenerated && { secret: webhook.secret }) }
    },
  }),
  route('PATCH', '/webhooks/:id', {
    body: webhookChangeBody,
    answer({ state: { accounts } }, { id, body }) {
      return toWebhook(accounts.updateWebhook(expectFound('webhook', id, accounts.webhook(id)), body))
    },
  }),
  route('DELETE', '/webhooks/:id', {
    answer({ state: { accounts } }, { id }) {
      accounts.removeWebhook(expectFound('webhook', id, accounts.webhook(id)))
      return { webhookId: id, deleted: true }
    },
  }),

  route('GET', '/alerts', { answer: ({ state: { accounts } }) => accounts.alerts().map(toAlert) }),
  route('POST', '/alerts', {
    body: alertBody,
    status: 201,
    answer({ state: { accounts } }, { body: { account, label = null, ...watched } }) {
      const { accountId } = findAccount(accounts, account)
      return toAlert(accounts.addAlert(accountId, { ...watched, label }))
    },
  }),
  route('DELETE', '/alerts/:id', {
    answer({ state: { accounts } }, { id }) {
      accounts.removeAlert(expectFound('alert', id, accounts.alert(id)))
      return { alertId: id, deleted: true }
    },
  }),
  route('POST', '/alert-secret', {
    body: accountChoiceBody,
    status: 201,
    answer({ state: { accounts }, randomBytes }, { body: { account } }) {
      const alertSecret = drawSecret('whsec', randomBytes)
      accounts.setAlertSecret(findAccount(accounts, account).accountId, alertSecret)
      return { alertSecret }
    },
  }),
]

export type ShownAccount = ReturnType<typeof toAccount>
export type ShownKey = ReturnType<typeof toKey>

/** An account without secrets. */
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

function expectFound<T>(kind: string, id: string, item: T | null | undefined, list = `${kind}s`): T {
  if (item !== null && item !== undefined) return item
  throw new HttpError(404, 'not_found', `there is no ${kind} ${id}; GET /_emulator/${list} lists them`)
}

export type ShownWebhook = ReturnType<typeof toWebhook>
export type ShownAlert = ReturnType<typeof toAlert>

/** A webhook without its secret (R76). */
function toWebhook({ webhookId, accountId, url, events, createdAt }: Webhook) {
  return { webhookId, accountId, url, events, createdAt: toTime(createdAt) }
}

function toAlert({ accountId: _accountId, createdAt, ...alert }: Alert) {
  return { ...alert, createdAt: toTime(createdAt) }
}

/** Finds an account by id or name; without either, returns the first. Throws 404. */
function findAccount(accounts: Accounts, idOrName: string | undefined): Account {
  const all = accounts.accounts()
  const [first] = all
  if (idOrName !== undefined) {
    return expectFound(
      'account',
      idOrName,
      all.find(({ accountId, name }) => accountId === idOrName || name === idOrName),
    )
  }
  if (first !== undefined) return first
  throw new HttpError(404, 'not_found', 'there is no account; POST /_emulator/accounts creates one')
}
