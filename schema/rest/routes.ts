/** Method and path of an operation, and the kind of its `data`. Without zod, so that clients load no schemas. */
export interface Route {
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** Below the version prefix, parameters in braces. */
  readonly path: string
  /** A `page` is a list with a `next_cursor` in its `meta`. */
  readonly data: 'object' | 'list' | 'page'
}

/** The operations of the REST service by id. */
export const routes = {
  getWallet: { method: 'get', path: '/wallets/{address}', data: 'object' },
  getWalletPortfolio: { method: 'get', path: '/wallets/{address}/portfolio', data: 'page' },
  getWalletPnl: { method: 'get', path: '/wallets/{address}/pnl', data: 'object' },
  listWalletTrades: { method: 'get', path: '/wallets/{address}/trades', data: 'page' },
  getToken: { method: 'get', path: '/tokens/{address}', data: 'object' },
  searchTokens: { method: 'get', path: '/tokens/search', data: 'page' },
  createAlert: { method: 'post', path: '/alerts', data: 'object' },
  listAlerts: { method: 'get', path: '/alerts', data: 'page' },
  getAlert: { method: 'get', path: '/alerts/{alert_id}', data: 'object' },
  deleteAlert: { method: 'delete', path: '/alerts/{alert_id}', data: 'object' },
  listNetworks: { method: 'get', path: '/networks', data: 'list' },
  createWebhook: { method: 'post', path: '/webhooks', data: 'object' },
  listWebhooks: { method: 'get', path: '/webhooks', data: 'page' },
  getWebhook: { method: 'get', path: '/webhooks/{webhook_id}', data: 'object' },
  updateWebhook: { method: 'patch', path: '/webhooks/{webhook_id}', data: 'object' },
  deleteWebhook: { method: 'delete', path: '/webhooks/{webhook_id}', data: 'object' },
} as const satisfies Readonly<Record<string, Route>>

export type OperationId = keyof typeof routes

/** Scopes of API keys (R69, A29). The network list needs none. */
export const scopes = {
  'read:wallets': 'All wallet endpoints.',
  'write:alerts': 'Create, read and delete alerts.',
  'read:tokens': 'Read and search tokens.',
  'write:webhooks': 'Create, read, change and delete webhooks.',
} as const
export type Scope = keyof typeof scopes
export const scopeNames = Object.keys(scopes) as [Scope, ...Scope[]]
