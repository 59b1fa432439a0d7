import { z } from 'zod'
import { alert, deletedAlert, newAlert } from './alert.ts'
import type { MetaKind } from './envelope.ts'
import type { ErrorCode } from './error.ts'
import {
  handleParameter,
  networkParameter,
  pageParameters,
  searchParameter,
  timeframeParameter,
  tokenParameter,
  walletParameter,
} from './parameters.ts'
import { networkInfo } from './network.ts'
import { routes, type OperationId, type Route } from './routes.ts'
import type { Scope } from './scopes.ts'
import { token } from './token.ts'
import { pnlSummary, position, trade, walletOverview } from './wallet.ts'
import { createdWebhook, deletedWebhook, newWebhook, webhook, webhookChange } from './webhook.ts'

/** The groups of endpoints (R2). */
export const groups = [
  'wallets',
  'tokens',
  'alerts',
  'networks',
  'webhooks',
  'contracts',
  'liquidity',
  'trending',
] as const
export type Group = (typeof groups)[number]

/** Groups of which no operation is documented: every path under them answers 501 `not_documented` (A2). */
export const undocumentedGroups = ['contracts', 'liquidity', 'trending'] as const satisfies readonly Group[]

/** An operation of the service: what a request may carry and what a success gives back. */
export interface Operation extends Pick<Route, 'method' | 'path'> {
  readonly id: OperationId
  readonly group: Group
  /** What the key must be allowed to do; null = any key will do. */
  readonly scope: Scope | null
  readonly summary: string
  readonly description?: string
  readonly requirements: readonly string[]
  /** What of the operation as a whole is our choice. Choices about single fields are marked on their schemas. */
  readonly assumptions: readonly string[]
  readonly params: z.ZodObject
  /** Parameters that are not here are ignored (R125); one that comes twice is refused. */
  readonly query: z.ZodObject
  /** Members that are not here are ignored (R125). */
  readonly body: z.ZodObject | null
  readonly status: 200 | 201
  readonly data: z.ZodType
  readonly meta: MetaKind
  /** How it can fail, beside what `refusalsOf` adds. */
  readonly refusals: readonly ErrorCode[]
}

function place<Id extends OperationId>(id: Id): Pick<(typeof routes)[Id], 'method' | 'path'> {
  const { method, path } = routes[id]
  return { method, path }
}

const none = z.object({})
const wallet = z.object({ address: walletParameter })
const ofNetwork = z.object({ network: networkParameter })
const paged = z.object(pageParameters)
const walletRefusals = ['wallet_not_found', 'network_unavailable'] as const
const alertHandle = z.object({ alert_id: handleParameter('The `alert_id` of the alert.') })
const webhookHandle = z.object({ webhook_id: handleParameter('The `webhook_id` of the webhook.') })

/** Every documented operation, and those that we add to manage alerts and webhooks (A22). */
export const operations = [
  {
    id: 'getWallet',
    ...place('getWallet'),
    group: 'wallets',
    scope: 'read:wallets',
    summary: 'Overview of a wallet',
    requirements: ['R16', 'R17', 'R18', 'R51'],
    assumptions: ['A11'],
    params: wallet,
    query: ofNetwork,
    body: null,
    status: 200,
    data: walletOverview,
    meta: 'network',
    refusals: walletRefusals,
  },
  {
    id: 'getWalletPortfolio',
    ...place('getWalletPortfolio'),
    group: 'wallets',
    scope: 'read:wallets',
    summary: 'All token holdings of a wallet, as pages',
    description:
      'In the order in which the tokens were first acquired; all pages of one walk show the prices of the first.',
    requirements: ['R19', 'R20', 'R52', 'R53'],
    assumptions: ['A11', 'A59'],
    params: wallet,
    query: z.object({ network: networkParameter, ...pageParameters }),
    body: null,
    status: 200,
    data: z.array(position),
    meta: 'page',
    refusals: walletRefusals,
  },
  {
    id: 'getWalletPnl',
    ...place('getWalletPnl'),
    group: 'wallets',
    scope: 'read:wallets',
    summary: 'Profit and loss of a wallet',
    requirements: ['R21', 'R22', 'R23', 'R24', 'R25', 'R26', 'R54'],
    assumptions: ['A11', 'A12', 'A13'],
    params: wallet,
    query: z.object({ network: networkParameter, timeframe: timeframeParameter }),
    body: null,
    status: 200,
    data: pnlSummary,
    meta: 'network',
    refusals: walletRefusals,
  },
  {
    id: 'listWalletTrades',
    ...place('listWalletTrades'),
    group: 'wallets',
    scope: 'read:wallets',
    summary: 'Trade history of a wallet, as pages',
    description: 'Newest first; the service promises no order, so rely on none.',
    requirements: ['R28', 'R29', 'R55', 'R56'],
    assumptions: ['A11', 'A21'],
    params: wallet,
    query: z.object({
      network: networkParameter,
      ...pageParameters,
      token: tokenParameter.describe('Only trades with this token in or out.').optional(),
    }),
    body: null,
    status: 200,
    data: z.array(trade),
    meta: 'page',
    refusals: walletRefusals,
  },
  {
    id: 'getToken',
    ...place('getToken'),
    group: 'tokens',
    scope: 'read:tokens',
    summary: 'A token by its address',
    requirements: ['R64'],
    assumptions: ['A7', 'A11', 'A29'],
    params: z.object({ address: tokenParameter }),
    query: ofNetwork,
    body: null,
    status: 200,
    data: token,
    meta: 'network',
    refusals: ['not_found', 'network_unavailable'],
  },
  {
    id: 'searchTokens',
    ...place('searchTokens'),
    group: 'tokens',
    scope: 'read:tokens',
    summary: 'Tokens by symbol, name or address, as pages',
    description: 'Without `network` it looks on all networks. Oldest first.',
    requirements: ['R65'],
    assumptions: ['A7', 'A20', 'A29'],
    params: none,
    query: z.object({ q: searchParameter, network: networkParameter.optional(), ...pageParameters }),
    body: null,
    status: 200,
    data: z.array(token),
    meta: 'page',
    refusals: ['network_unavailable'],
  },
  {
    id: 'createAlert',
    ...place('createAlert'),
    group: 'alerts',
    scope: 'write:alerts',
    summary: 'Create an alert',
    description: 'Not idempotent: the same body twice makes two alerts. An account has at most 100.',
    requirements: ['R30', 'R31', 'R32', 'R33', 'R34', 'R36', 'R37', 'R57', 'R58'],
    assumptions: ['A17', 'A19', 'A26', 'A27', 'A41'],
    params: none,
    query: none,
    body: newAlert,
    status: 201,
    data: alert,
    meta: 'plain',
    refusals: ['limit_reached', 'network_unavailable'],
  },
  {
    id: 'listAlerts',
    ...place('listAlerts'),
    group: 'alerts',
    scope: 'write:alerts',
    summary: 'The alerts of the account, as pages',
    description: 'Oldest first.',
    requirements: ['R14'],
    assumptions: ['A22', 'A29'],
    params: none,
    query: paged,
    body: null,
    status: 200,
    data: z.array(alert),
    meta: 'page',
    refusals: [],
  },
  {
    id: 'getAlert',
    ...place('getAlert'),
    group: 'alerts',
    scope: 'write:alerts',
    summary: 'An alert',
    requirements: ['R31'],
    assumptions: ['A22', 'A29'],
    params: alertHandle,
    query: none,
    body: null,
    status: 200,
    data: alert,
    meta: 'plain',
    refusals: ['not_found'],
  },
  {
    id: 'deleteAlert',
    ...place('deleteAlert'),
    group: 'alerts',
    scope: 'write:alerts',
    summary: 'Delete an alert',
    requirements: ['R31'],
    assumptions: ['A22', 'A29'],
    params: alertHandle,
    query: none,
    body: null,
    status: 200,
    data: deletedAlert,
    meta: 'plain',
    refusals: ['not_found'],
  },
  {
    id: 'listNetworks',
    ...place('listNetworks'),
    group: 'networks',
    scope: null,
    summary: 'The supported networks with their status',
    description: 'May be cached for up to 5 minutes: polling it uses up requests.',
    requirements: ['R38', 'R39', 'R40', 'R59', 'R123'],
    assumptions: ['A6', 'A29'],
    params: none,
    query: none,
    body: null,
    status: 200,
    data: z.array(networkInfo),
    meta: 'plain',
    refusals: [],
  },
  {
    id: 'createWebhook',
    ...place('createWebhook'),
    group: 'webhooks',
    scope: 'write:webhooks',
    summary: 'Register a webhook',
    description:
      'An account has at most 20. The same url twice means two deliveries of each event, with the same id. ' +
      'A secret that the service makes is shown in this answer only.',
    requirements: ['R60', 'R61', 'R62', 'R77', 'R91'],
    assumptions: ['A8', 'A19', 'A24', 'A26', 'A29'],
    params: none,
    query: none,
    body: newWebhook,
    status: 201,
    data: createdWebhook,
    meta: 'plain',
    refusals: ['limit_reached'],
  },
  {
    id: 'listWebhooks',
    ...place('listWebhooks'),
    group: 'webhooks',
    scope: 'write:webhooks',
    summary: 'The webhooks of the account, as pages',
    description: 'Oldest first.',
    requirements: ['R14'],
    assumptions: ['A8', 'A22', 'A29'],
    params: none,
    query: paged,
    body: null,
    status: 200,
    data: z.array(webhook),
    meta: 'page',
    refusals: [],
  },
  {
    id: 'getWebhook',
    ...place('getWebhook'),
    group: 'webhooks',
    scope: 'write:webhooks',
    summary: 'A webhook',
    requirements: ['R76'],
    assumptions: ['A8', 'A22', 'A29'],
    params: webhookHandle,
    query: none,
    body: null,
    status: 200,
    data: webhook,
    meta: 'plain',
    refusals: ['not_found'],
  },
  {
    id: 'updateWebhook',
    ...place('updateWebhook'),
    group: 'webhooks',
    scope: 'write:webhooks',
    summary: 'Change a webhook',
    description: 'What is given is changed. A new secret signs every delivery from now on, retries included.',
    requirements: ['R91'],
    assumptions: ['A8', 'A22', 'A29', 'A32', 'A45'],
    params: webhookHandle,
    query: none,
    body: webhookChange,
    status: 200,
    data: webhook,
    meta: 'plain',
    refusals: ['not_found'],
  },
  {
    id: 'deleteWebhook',
    ...place('deleteWebhook'),
    group: 'webhooks',
    scope: 'write:webhooks',
    summary: 'Delete a webhook',
    description: 'Deliveries that are still to be retried are cancelled.',
    requirements: ['R62'],
    assumptions: ['A22', 'A29', 'A45'],
    params: webhookHandle,
    query: none,
    body: null,
    status: 200,
    data: deletedWebhook,
    meta: 'plain',
    refusals: ['not_found'],
  },
] as const satisfies readonly Operation[]

export type OperationById<Id extends OperationId> = Extract<(typeof operations)[number], { id: Id }>

/** Every code that an answer of the operation can carry: its own, and those that all have or that its scope and body bring. */
export function refusalsOf(operation: Operation): readonly ErrorCode[] {
  return [
    'invalid_request',
    ...operation.refusals,
    'invalid_api_key',
    ...(operation.scope === null ? [] : (['insufficient_scope'] as const)),
    ...(operation.body === null ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
    'rate_limited',
    'internal',
  ]
}
