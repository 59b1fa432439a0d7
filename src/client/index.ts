export { createClient } from './client.ts'
export type { ClientOptions } from './options.ts'
export type { ApiClient, NetworksOptions, Query } from './api.ts'
export { ApiError, ApiNetworkError, ApiProtocolError, ApiTimeoutError, type ApiErrorOptions } from './errors.ts'
export type {
  Alert,
  AnswerTo,
  ApiAnswer,
  ArgumentsOf,
  CallOptions,
  CreatedWebhook,
  DataOf,
  ItemOf,
  Network,
  PageOf,
  Pages,
  PnlSummary,
  Position,
  Token,
  Trade,
  WalletOverview,
  Webhook,
} from './types.ts'
export type { OperationId } from './operations.ts'
