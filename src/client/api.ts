import type { AnswerTo, ApiAnswer, ArgumentsOf, CallOptions, ItemOf, Pages } from './types.ts'

/** Whatever a query may carry; undefined is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** The list of networks is kept for up to five minutes; `fresh` asks anew. */
export interface NetworksOptions {
  readonly fresh?: boolean | undefined
}

/**
 * The service, an operation a method. Arguments are one flat object: parameters and members of the body together.
 *
 * All of them reject with `ApiError` for an answer that is no success, with its subclasses where there is no usable answer, with
 * the reason of an aborted signal, and with InboxError `usage` for arguments that cannot be sent.
 */
export interface ApiClient {
  /** Overview of a wallet (R51). */
  getWallet(args: ArgumentsOf<'getWallet'>, options?: CallOptions): Promise<AnswerTo<'getWallet'>>
  /** What a wallet holds, page by page (R52, R53). */
  getWalletPortfolio(
    args: ArgumentsOf<'getWalletPortfolio'>,
    options?: CallOptions,
  ): Pages<ItemOf<'getWalletPortfolio'>>
  /** Profit and loss of a wallet; of 30 days unless `timeframe` says otherwise (R54). */
  getWalletPnl(args: ArgumentsOf<'getWalletPnl'>, options?: CallOptions): Promise<AnswerTo<'getWalletPnl'>>
  /** The trades of a wallet, page by page, in no order that is promised (R55); with `token` those that it is part of (R56). */
  listWalletTrades(args: ArgumentsOf<'listWalletTrades'>, options?: CallOptions): Pages<ItemOf<'listWalletTrades'>>
  /** A token by its address (R64). */
  getToken(args: ArgumentsOf<'getToken'>, options?: CallOptions): Promise<AnswerTo<'getToken'>>
  /** Tokens by a part of their symbol or name, or by their address (R65). */
  searchTokens(args: ArgumentsOf<'searchTokens'>, options?: CallOptions): Pages<ItemOf<'searchTokens'>>
  /** Creates an alert (R57, R58). The same twice makes two alerts: so it is not repeated after a lost answer. */
  createAlert(args: ArgumentsOf<'createAlert'>, options?: CallOptions): Promise<AnswerTo<'createAlert'>>
  /** The alerts of the account. */
  listAlerts(args?: ArgumentsOf<'listAlerts'>, options?: CallOptions): Pages<ItemOf<'listAlerts'>>
  /** An alert by its `alert_id` (R31). */
  getAlert(args: ArgumentsOf<'getAlert'>, options?: CallOptions): Promise<AnswerTo<'getAlert'>>
  deleteAlert(args: ArgumentsOf<'deleteAlert'>, options?: CallOptions): Promise<AnswerTo<'deleteAlert'>>
  /** The supported networks with their status (R59), at most five minutes old (R123); calls at the same time share one request. */
  listNetworks(args?: NetworksOptions, options?: CallOptions): Promise<AnswerTo<'listNetworks'>>
  /** Registers a webhook (R60). The same twice means every event twice: so it is not repeated after a lost answer. */
  createWebhook(args: ArgumentsOf<'createWebhook'>, options?: CallOptions): Promise<AnswerTo<'createWebhook'>>
  /** The webhooks of the account. */
  listWebhooks(args?: ArgumentsOf<'listWebhooks'>, options?: CallOptions): Pages<ItemOf<'listWebhooks'>>
  getWebhook(args: ArgumentsOf<'getWebhook'>, options?: CallOptions): Promise<AnswerTo<'getWebhook'>>
  /** Changes what is given of a webhook (R91). */
  updateWebhook(args: ArgumentsOf<'updateWebhook'>, options?: CallOptions): Promise<AnswerTo<'updateWebhook'>>
  deleteWebhook(args: ArgumentsOf<'deleteWebhook'>, options?: CallOptions): Promise<AnswerTo<'deleteWebhook'>>
  /**
   * For what is not documented: `get('/trending', { limit: 5 })`. The path is plain text below the prefix of the version, or with it;
   * each of its segments is encoded.
   */
  get(path: string, query?: Query, options?: CallOptions): Promise<ApiAnswer<unknown>>
}
