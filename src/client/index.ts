export { createClient } from './client.ts'
export type { ClientOptions } from './options.ts'
export { ApiError, ApiNetworkError, ApiProtocolError, ApiTimeoutError, type ApiErrorOptions } from './errors.ts'
export type {
  Alert,
  AnswerTo,
  ApiAnswer,
  ApiClient,
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
  Token,
  Trade,
  WalletOverview,
  Webhook,
} from './api.ts'
