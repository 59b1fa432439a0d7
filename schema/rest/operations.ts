import { z } from 'zod'
import { alert, deletedAlert, newAlert } from './alert.ts'
import { exampleOf } from './components.ts'
import type { MetaKind } from './envelope.ts'
import type { ErrorCode } from './error.ts'
import { exampleIds, parameterExamples } from './examples.ts'
import {
  handleParameter,
  networkParameter,
  pageParameters,
  searchParameter,
  timeframeParameter,
  tokenParameter,
  walletParameter,
} from './parameters.ts'
import { exampleNetwork, networkInfo } from './network.ts'
import { routes, type OperationId, type Route, type Scope } from './routes.ts'
import { token } from './token.ts'
import { pnlSummary, position, trade, walletOverview } from './wallet.ts'
import { createdWebhook, deletedWebhook, exampleWebhook, newWebhook, webhook, webhookChange } from './webhook.ts'

/** Groups without documented operations: every path under them answers 501 `not_documented` (A2). */
export const undocumentedGroups = ['contracts', 'liquidity', 'trending'] as const

/** An operation of the service: valid requests and the successful response. */
export interface Operation extends Pick<Route, 'method' | 'path'> {
  readonly id: OperationId
  /** Scope that the key needs; null = any key. */
  readonly scope: Scope | null
  /** Also describes the command of the operation. */
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
  /** Error codes in addition to the common ones in `errorsOf`. */
  readonly errors: readonly ErrorCode[]
  /** Values that replace the examples of the schemas. */
  readonly example?: { readonly parameters?: object; readonly data?: unknown; readonly meta?: object }
}

const defaults = { params: z.object({}), query: z.object({}), body: null, meta: 'plain', errors: [] } as const
type Defaults = typeof defaults
type Definition = Omit<Operation, 'id' | 'method' | 'path' | 'scope' | keyof Defaults> &
  Partial<Pick<Operation, keyof Defaults>>

const wallet = z.object({ address: walletParameter })
const ofNetwork = z.object({ network: networkParameter })
const paged = z.object(pageParameters)
const walletErrors = ['wallet_not_found', 'network_unavailable'] as const
const alertHandle = z.object({ alert_id: handleParameter('The `alert_id` of the alert.') })
const webhookHandle = z.object({ webhook_id: handleParameter('The `webhook_id` of the webhook.') })

/** A second position, so that the shares of the portfolio add up to 100 %. */
const secondPosition = {
  token_address: exampleIds.secondToken,
  symbol: 'SMPL',
  name: 'Sample Coin',
  balance: 50_000,
  price_usd: 0.1,
  value_usd: 5000,
  cost_basis_usd: 6000,
  unrealised_pnl_usd: -1000,
  unrealised_pnl_pct: -16.67,
  allocation_pct: 25,
}

/** The documented operations, and additional ones for managing alerts and webhooks (A22). */
const definitions = {
  getWallet: {
    summary: 'Show the overview of a wallet',
    requirements: ['R16', 'R17', 'R18', 'R51'],
    assumptions: ['A11'],
    params: wallet,
    query: ofNetwork,
    data: walletOverview,
    meta: 'network',
    errors: walletErrors,
  },
  getWalletPortfolio: {
    summary: 'List the positions of a wallet',
    description: 'In the order of first acquisition; all pages show the prices at the time of the first page.',
    requirements: ['R19', 'R20', 'R52', 'R53'],
    assumptions: ['A11', 'A59'],
    params: wallet,
    query: z.object({ network: networkParameter, ...pageParameters }),
    data: z.array(position),
    meta: 'page',
    errors: walletErrors,
    example: { data: [exampleOf(position), secondPosition], meta: { total: 2 } },
  },
  getWalletPnl: {
    summary: 'Show profit and loss of a wallet',
    requirements: ['R21', 'R22', 'R23', 'R24', 'R25', 'R26', 'R54'],
    assumptions: ['A11', 'A12', 'A13'],
    params: wallet,
    query: z.object({ network: networkParameter, timeframe: timeframeParameter }),
    data: pnlSummary,
    meta: 'network',
    errors: walletErrors,
  },
  listWalletTrades: {
    summary: 'List the trades of a wallet',
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
    errors: walletErrors,
    example: { parameters: { limit: 1 }, meta: { next_cursor: parameterExamples.cursor, limit: 1, total: 4 } },
  },
  getToken: {
    summary: 'Show a token',
    requirements: ['R64'],
    assumptions: ['A7', 'A11', 'A29'],
    params: z.object({ address: tokenParameter }),
    query: ofNetwork,
    data: token,
    meta: 'network',
    errors: ['not_found', 'network_unavailable'],
    example: { parameters: { address: exampleIds.token } },
  },
  searchTokens: {
    summary: 'Find tokens by part of a symbol or name, or by address',
    description: 'Without `network`, searches all networks. Oldest first.',
    requirements: ['R65'],
    assumptions: ['A7', 'A20', 'A29'],
    query: z.object({ q: searchParameter, network: networkParameter.optional(), ...pageParameters }),
    data: z.array(token),
    meta: 'page',
    errors: ['network_unavailable'],
  },
  createAlert: {
    summary: 'Create an alert; repeating the call creates another one',
    description: 'An account has at most 100.',
    requirements: ['R30', 'R31', 'R32', 'R33', 'R34', 'R36', 'R37', 'R57', 'R58'],
    assumptions: ['A17', 'A19', 'A26', 'A27', 'A41'],
    body: newAlert,
    data: alert,
    errors: ['limit_reached', 'network_unavailable'],
  },
  listAlerts: {
    summary: 'List alerts of the account (undocumented)',
    description: 'Oldest first.',
    requirements: ['R14'],
    assumptions: ['A22', 'A29'],
    query: paged,
    data: z.array(alert),
    meta: 'page',
  },
  getAlert: {
    summary: 'Show an alert (undocumented)',
    requirements: ['R31'],
    assumptions: ['A22', 'A29'],
    params: alertHandle,
    data: alert,
    errors: ['not_found'],
  },
  deleteAlert: {
    summary: 'Delete an alert (undocumented)',
    requirements: ['R31'],
    assumptions: ['A22', 'A29'],
    params: alertHandle,
    data: deletedAlert,
    errors: ['not_found'],
  },
  listNetworks: {
    summary: 'List the networks of the service with their status',
    description: 'May be cached for up to 5 minutes: polling it uses the quota.',
    requirements: ['R38', 'R39', 'R40', 'R59', 'R123'],
    assumptions: ['A6', 'A29'],
    data: z.array(networkInfo),
    example: {
      data: [
        exampleNetwork,
        { ...exampleNetwork, id: 'solana', name: 'Solana', chain_id: null, native_currency: 'SOL' },
      ],
    },
  },
  createWebhook: {
    summary: 'Register a webhook; repeating the call registers it twice',
    description:
      'An account has at most 20. The same url twice means two deliveries of each event, with the same id. ' +
      'A generated secret is shown in this response only.',
    requirements: ['R60', 'R61', 'R62', 'R77', 'R91'],
    assumptions: ['A8', 'A19', 'A24', 'A26', 'A29'],
    body: newWebhook,
    data: createdWebhook,
    errors: ['limit_reached'],
  },
  listWebhooks: {
    summary: 'List webhooks of the account (undocumented)',
    description: 'Oldest first.',
    requirements: ['R14'],
    assumptions: ['A8', 'A22', 'A29'],
    query: paged,
    data: z.array(webhook),
    meta: 'page',
  },
  getWebhook: {
    summary: 'Show a webhook (undocumented)',
    requirements: ['R76'],
    assumptions: ['A8', 'A22', 'A29'],
    params: webhookHandle,
    data: webhook,
    errors: ['not_found'],
  },
  updateWebhook: {
    summary: 'Change a webhook (undocumented)',
    description: 'Changes the given members. A new secret signs all later deliveries, retries included.',
    requirements: ['R91'],
    assumptions: ['A8', 'A22', 'A29', 'A32', 'A45'],
    params: webhookHandle,
    body: webhookChange,
    data: webhook,
    errors: ['not_found'],
    example: { data: { ...exampleWebhook, events: ['*'] } },
  },
  deleteWebhook: {
    summary: 'Delete a webhook (undocumented)',
    description: 'Cancels pending retries.',
    requirements: ['R62'],
    assumptions: ['A22', 'A29', 'A45'],
    params: webhookHandle,
    data: deletedWebhook,
    errors: ['not_found'],
  },
} as const satisfies Readonly<Record<OperationId, Definition>>

type Definitions = typeof definitions
/** The schemas of an operation, and the kind of its `meta`. */
export type OperationById<Id extends OperationId> = {
  readonly [K in keyof Defaults | 'data']: K extends keyof Definitions[Id]
    ? Definitions[Id][K]
    : Defaults[K & keyof Defaults]
}

/** By group, the first segment of the path. */
const scopeOf: Readonly<Record<string, Scope>> = {
  wallets: 'read:wallets',
  tokens: 'read:tokens',
  alerts: 'write:alerts',
  webhooks: 'write:webhooks',
}

export const operations = (Object.keys(definitions) as OperationId[]).map((id): Operation => {
  const { method, path } = routes[id]
  const scope = scopeOf[path.split('/')[1] ?? ''] ?? null
  return { ...defaults, ...definitions[id], id, method, path, scope }
})

/** Status of a successful response (A19). */
export function successStatus({ method }: Pick<Operation, 'method'>): 200 | 201 {
  return method === 'post' ? 201 : 200
}

/** All error codes of an operation: its own, the common ones, and the ones its scope and body add. */
export function errorsOf(operation: Operation): readonly ErrorCode[] {
  return [
    'invalid_request',
    ...operation.errors,
    'invalid_api_key',
    ...(operation.scope === null ? [] : (['insufficient_scope'] as const)),
    ...(operation.body === null ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
    'rate_limited',
    'internal',
  ]
}
