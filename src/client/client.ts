import type { ApiClient, NetworksOptions } from './api.ts'
import { ApiTimeoutError } from './errors.ts'
import { operations, type OperationId } from './operations.ts'
import { parseClientOptions, parseTimeout, type ClientOptions } from './options.ts'
import { toPages } from './pages.ts'
import { toGetRequest, toRequest } from './request.ts'
import { createShared, type Shared } from './shared.ts'
import { Transport } from './transport.ts'
import type { AnswerTo, CallOptions, ItemOf, PageOf, Pages } from './types.ts'
import { linkSignals, orAborted } from './wait.ts'

/** Gives clients that share all but a signal: what they do is paced together. It is asked for when a call begins. */
export type ClientFamily = (signal?: () => AbortSignal) => ApiClient

/**
 * A client of the REST service. It waits for the rate limit (R107, R117–R119), repeats what is safe to repeat, and never follows
 * a redirect, which would take the key along. Use one for each key: only calls of the same client are paced together.
 *
 * @throws InboxError `config_invalid` for options that cannot be used, never with the key
 *
 * @example
 * const api = createClient({ baseUrl: 'https://api.example.com/v1', apiKey: process.env.INBOX_API_KEY })
 * const { data } = await api.getWallet({ address, network: 'ethereum' })
 * for await (const position of api.getWalletPortfolio({ address, network: 'ethereum' })) console.log(position.symbol)
 */
export function createClient(options: ClientOptions): ApiClient {
  return createClientFamily(options)()
}

/** `createClient` for several users, each with a signal of its own. */
export function createClientFamily(options: ClientOptions): ClientFamily {
  const transport = new Transport(parseClientOptions(options))
  const ask = () => transport.call(toRequest(operations.listNetworks, {})) as Promise<AnswerTo<'listNetworks'>>
  const networks = createShared(transport.clock, ask)
  return (signal) => toClient(transport, networks, signal)
}

type Arguments = Readonly<Record<string, unknown>>

function toClient(
  transport: Transport,
  networks: Shared<AnswerTo<'listNetworks'>>,
  ofRun?: () => AbortSignal,
): ApiClient {
  // What an answer has is what the document says; only the envelope is checked.
  async function call<Id extends OperationId>(id: Id, args: Arguments, options?: CallOptions): Promise<AnswerTo<Id>> {
    return (await transport.call(toRequest(operations[id], args), options, ofRun?.())) as AnswerTo<Id>
  }

  function pages<Id extends OperationId>(id: Id, args: Arguments = {}, options?: CallOptions): Pages<ItemOf<Id>> {
    const fetchPage = (cursor: string | undefined) => call(id, { ...args, cursor }, options)
    return toPages({
      name: id,
      cursor: typeof args['cursor'] === 'string' ? args['cursor'] : undefined,
      fetchPage: fetchPage as (cursor: string | undefined) => Promise<PageOf<ItemOf<Id>>>,
      log: transport.log,
    })
  }

  /** Whoever ends its call leaves the request to the others. */
  async function listNetworks({ fresh = false }: NetworksOptions = {}, { signal, timeoutMs }: CallOptions = {}) {
    parseTimeout(timeoutMs)
    using link = linkSignals([ofRun?.(), signal])
    link.signal.throwIfAborted()
    const late =
      timeoutMs === undefined ? undefined : transport.clock.after(timeoutMs, () => link.abort(tooLate(timeoutMs)))
    try {
      const answer = await orAborted(networks.get(fresh), link.signal)
      // To each its own: what one changes in it is not seen by the others.
      return { ...answer, ...structuredClone({ data: answer.data, meta: answer.meta, body: answer.body }) }
    } finally {
      late?.cancel()
    }
  }

  return Object.freeze<ApiClient>({
    getWallet: (args, options) => call('getWallet', args, options),
    getWalletPortfolio: (args, options) => pages('getWalletPortfolio', args, options),
    getWalletPnl: (args, options) => call('getWalletPnl', args, options),
    listWalletTrades: (args, options) => pages('listWalletTrades', args, options),
    getToken: (args, options) => call('getToken', args, options),
    searchTokens: (args, options) => pages('searchTokens', args, options),
    createAlert: (args, options) => call('createAlert', args, options),
    listAlerts: (args, options) => pages('listAlerts', args, options),
    getAlert: (args, options) => call('getAlert', args, options),
    deleteAlert: (args, options) => call('deleteAlert', args, options),
    listNetworks,
    createWebhook: (args, options) => call('createWebhook', args, options),
    listWebhooks: (args, options) => pages('listWebhooks', args, options),
    getWebhook: (args, options) => call('getWebhook', args, options),
    updateWebhook: (args, options) => call('updateWebhook', args, options),
    deleteWebhook: (args, options) => call('deleteWebhook', args, options),
    get: async (path, query = {}, options) => transport.call(toGetRequest(path, query), options, ofRun?.()),
  })
}

function tooLate(timeoutMs: number): ApiTimeoutError {
  return new ApiTimeoutError(`GET /networks took longer than ${timeoutMs} ms: give it more time by timeoutMs`, {
    code: 'timed_out',
    isRetryable: true,
  })
}
