export { createClient } from './client.ts'
export type { ClientOptions } from './options.ts'
export { ApiError, type ApiErrorOptions } from './errors.ts'
export type {
  Alert,
  ApiClient,
  ApiResponse,
  ArgumentsOf,
  CallOptions,
  CreatedWebhook,
  DataOf,
  ItemOf,
  Network,
  NetworksOptions,
  OperationId,
  PageOf,
  Pages,
  PnlSummary,
  Position,
  Query,
  ResponseTo,
  Token,
  Trade,
  WalletOverview,
  Webhook,
} from './api.ts'
