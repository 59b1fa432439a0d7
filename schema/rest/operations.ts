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

/** Groups without documented operations: every path under them answers 501 `not_documented` (A2). */
export const undocumentedGroups = ['contracts', 'liquidity', 'trending'] as const

/** An operation of the service: valid requests and the successful response. */
export interface Operation extends Pick<Route, 'method' | 'path'> {
  readonly id: OperationId
  /** Scope that the key needs; null = any key. */
  readonly scope: Scope | null
  readonly summary: string
  readonly description?: string
  readonly requirements: readonly string[]
  /** Assumptions about the operation as a whole. Those about single fields are on their schemas. */
  readonly assumptions: readonly string[]
  readonly params: z.ZodObject
  /** Other parameters are ignored (R125); a repeated parameter is rejected. */
  readonly query: z.ZodObject
  /** Other members are ignored (R125). */
  readonly body: z.ZodObject | null
  readonly data: z.ZodType
  readonly meta: MetaKind
  /** Error codes in addition to the common ones in `refusalsOf`. */
  readonly refusals: readonly ErrorCode[]
}

const defaults = { params: z.object({}), query: z.object({}), body: null, meta: 'plain', refusals: [] } as const
type Defaults = typeof defaults
type Given = Omit<Operation, 'id' | 'method' | 'path' | keyof Defaults> & Partial<Pick<Operation, keyof Defaults>>

/** Defines an operation: its route, its members, and defaults for the members that are not given. */
function operation<const Id extends OperationId, const O extends Given>(id: Id, given: O) {
  const { method, path } = routes[id]
  const merged = { ...defaults, ...given, id, method, path }
  return merged as unknown as Omit<Defaults, keyof O> &
    O & { readonly id: Id } & Pick<(typeof routes)[Id], 'method' | 'path'>
}

const wallet = z.object({ address: walletParameter })
const ofNetwork = z.object({ network: networkParameter })
const paged = z.object(pageParameters)
const walletRefusals = ['wallet_not_found', 'network_unavailable'] as const
const alertHandle = z.object({ alert_id: handleParameter('The `alert_id` of the alert.') })
const webhookHandle = z.object({ webhook_id: handleParameter('The `webhook_id` of the webhook.') })

/** The documented operations, and our own for managing alerts and webhooks (A22). */
export const operations = [
  operation('getWallet', {
    scope: 'read:wallets',
    summary: 'Overview of a wallet',
    requirements: ['R16', 'R17', 'R18', 'R51'],
    assumptions: ['A11'],
    params: wallet,
    query: ofNetwork,
    data: walletOverview,
    meta: 'network',
    refusals: walletRefusals,
  }),
  operation('getWalletPortfolio', {
    scope: 'read:wallets',
    summary: 'All token holdings of a wallet, as pages',
    description: 'In the order of first acquisition; all pages show the prices at the time of the first page.',
    requirements: ['R19', 'R20', 'R52', 'R53'],
    assumptions: ['A11', 'A59'],
    params: wallet,
    query: z.object({ network: networkParameter, ...pageParameters }),
    data: z.array(position),
    meta: 'page',
    refusals: walletRefusals,
  }),
  operation('getWalletPnl', {
    scope: 'read:wallets',
    summary: 'Profit and loss of a wallet',
    requirements: ['R21', 'R22', 'R23', 'R24', 'R25', 'R26', 'R54'],
    assumptions: ['A11', 'A12', 'A13'],
    params: wallet,
    query: z.object({ network: networkParameter, timeframe: timeframeParameter }),
    data: pnlSummary,
    meta: 'network',
    refusals: walletRefusals,
  }),
  operation('listWalletTrades', {
    scope: 'read:wallets',
    summary: 'Trade history of a wallet, as pages',
    description: 'Newest first. The service promises no order.',
    requirements: ['R28', 'R29', 'R55', 'R56'],
    assumptions: ['A11', 'A21'],
    params: wallet,
    query: z.object({
      network: networkParameter,
      ...pageParameters,
      token: tokenParameter.describe('Only trades with this token in or out.').optional(),
    }),
    data: z.array(trade),
    meta: 'page',
    refusals: walletRefusals,
  }),
  operation('getToken', {
    scope: 'read:tokens',
    summary: 'A token by its address',
    requirements: ['R64'],
    assumptions: ['A7', 'A11', 'A29'],
    params: z.object({ address: tokenParameter }),
    query: ofNetwork,
    data: token,
    meta: 'network',
    refusals: ['not_found', 'network_unavailable'],
  }),
  operation('searchTokens', {
    scope: 'read:tokens',
    summary: 'Tokens by symbol, name or address, as pages',
    description: 'Without `network`, searches all networks. Oldest first.',
    requirements: ['R65'],
    assumptions: ['A7', 'A20', 'A29'],
    query: z.object({ q: searchParameter, network: networkParameter.optional(), ...pageParameters }),
    data: z.array(token),
    meta: 'page',
    refusals: ['network_unavailable'],
  }),
  operation('createAlert', {
    scope: 'write:alerts',
    summary: 'Create an alert',
    description: 'Not idempotent: the same body twice creates two alerts. An account has at most 100.',
    requirements: ['R30', 'R31', 'R32', 'R33', 'R34', 'R36', 'R37', 'R57', 'R58'],
    assumptions: ['A17', 'A19', 'A26', 'A27', 'A41'],
    body: newAlert,
    data: alert,
    refusals: ['limit_reached', 'network_unavailable'],
  }),
  operation('listAlerts', {
    scope: 'write:alerts',
    summary: 'The alerts of the account, as pages',
    description: 'Oldest first.',
    requirements: ['R14'],
    assumptions: ['A22', 'A29'],
    query: paged,
    data: z.array(alert),
    meta: 'page',
  }),
  operation('getAlert', {
    scope: 'write:alerts',
    summary: 'An alert',
    requirements: ['R31'],
    assumptions: ['A22', 'A29'],
    params: alertHandle,
    data: alert,
    refusals: ['not_found'],
  }),
  operation('deleteAlert', {
    scope: 'write:alerts',
    summary: 'Delete an alert',
    requirements: ['R31'],
    assumptions: ['A22', 'A29'],
    params: alertHandle,
    data: deletedAlert,
    refusals: ['not_found'],
  }),
  operation('listNetworks', {
    scope: null,
    summary: 'The supported networks with their status',
    description: 'May be cached for up to 5 minutes: polling it uses the quota.',
    requirements: ['R38', 'R39', 'R40', 'R59', 'R123'],
    assumptions: ['A6', 'A29'],
    data: z.array(networkInfo),
  }),
  operation('createWebhook', {
    scope: 'write:webhooks',
    summary: 'Register a webhook',
    description:
      'An account has at most 20. The same url twice means two deliveries of each event, with the same id. ' +
      'A generated secret is shown in this response only.',
    requirements: ['R60', 'R61', 'R62', 'R77', 'R91'],
    assumptions: ['A8', 'A19', 'A24', 'A26', 'A29'],
    body: newWebhook,
    data: createdWebhook,
    refusals: ['limit_reached'],
  }),
  operation('listWebhooks', {
    scope: 'write:webhooks',
    summary: 'The webhooks of the account, as pages',
    description: 'Oldest first.',
    requirements: ['R14'],
    assumptions: ['A8', 'A22', 'A29'],
    query: paged,
    data: z.array(webhook),
    meta: 'page',
  }),
  operation('getWebhook', {
    scope: 'write:webhooks',
    summary: 'A webhook',
    requirements: ['R76'],
    assumptions: ['A8', 'A22', 'A29'],
    params: webhookHandle,
    data: webhook,
    refusals: ['not_found'],
  }),
  operation('updateWebhook', {
    scope: 'write:webhooks',
    summary: 'Change a webhook',
    description: 'Changes the given members. A new secret signs all later deliveries, retries included.',
    requirements: ['R91'],
    assumptions: ['A8', 'A22', 'A29', 'A32', 'A45'],
    params: webhookHandle,
    body: webhookChange,
    data: webhook,
    refusals: ['not_found'],
  }),
  operation('deleteWebhook', {
    scope: 'write:webhooks',
    summary: 'Delete a webhook',
    description: 'Cancels pending retries.',
    requirements: ['R62'],
    assumptions: ['A22', 'A29', 'A45'],
    params: webhookHandle,
    data: deletedWebhook,
    refusals: ['not_found'],
  }),
] as const satisfies readonly Operation[]

export type OperationById<Id extends OperationId> = Extract<(typeof operations)[number], { id: Id }>

/** Status of a successful response (A19). */
export function successStatus({ method }: Pick<Operation, 'method'>): 200 | 201 {
  return method === 'post' ? 201 : 200
}

/** All error codes of an operation: its own, the common ones, and the ones its scope and body add. */
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
