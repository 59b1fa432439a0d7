import { routes, type OperationId } from '../../schema/rest/routes.ts'
import type { Logger } from '../base/log.ts'
import type { ApiClient, ApiResponse, CallOptions, NetworksOptions, PageOf, Pages, Query, ResponseTo } from './api.ts'
import { ApiError } from './errors.ts'
import { parseClientOptions, type ClientOptions } from './options.ts'
import { toGetRequest, toRequest } from './request.ts'
import { createTransport } from './transport.ts'

/** Creates clients that share everything except a signal, which is read when a call begins. Their calls are paced together. */
export type ClientFamily = (signal?: () => AbortSignal) => ApiClient

/**
 * A client of the REST API. Waits for the rate limit (R107, R117–R119), retries calls that are safe to repeat, and never
 * follows a redirect, which would take the key along. Use one client per key: only its own calls are paced together.
 *
 * @throws InboxError `config_invalid` for invalid options, never with the key
 *
 * @example
 * const api = createClient({ baseUrl: 'https://api.example.com/v1', apiKey: process.env.INBOX_API_KEY })
 * const { data } = await api.getWallet({ address, network: 'ethereum' })
 * for await (const position of api.getWalletPortfolio({ address, network: 'ethereum' })) console.log(position.symbol)
 */
export function createClient(options: ClientOptions): ApiClient {
  return createClientFamily(options)()
}

type Arguments = Readonly<Record<string, unknown>>

/** The list of networks may be five minutes old (R123). */
const maxNetworksAgeMs = 300_000

/** `createClient` for several users, each with its own signal. */
export function createClientFamily(options: ClientOptions): ClientFamily {
  const parsed = parseClientOptions(options)
  const { clock, log } = parsed
  const transport = createTransport(parsed)
  let networks: { readonly requestedAt: number; readonly response: ResponseTo<'listNetworks'> } | undefined

  return (signalOfRun) => {
    const call = async (id: OperationId, args: Arguments, callOptions?: CallOptions): Promise<ApiResponse<unknown>> =>
      transport(toRequest(routes[id], args), callOptions, signalOfRun?.())

    function methodOf(id: OperationId) {
      if (routes[id].data !== 'page')
        return (args: Arguments = {}, callOptions?: CallOptions) => call(id, args, callOptions)
      return (args: Arguments = {}, callOptions?: CallOptions) =>
        toPages({
          name: id,
          cursor: typeof args['cursor'] === 'string' ? args['cursor'] : undefined,
          fetchPage: async (cursor) => (await call(id, { ...args, cursor }, callOptions)) as PageOf<unknown>,
          log,
        })
    }

    async function listNetworks({ fresh = false }: NetworksOptions = {}, callOptions?: CallOptions) {
      const requestedAt = clock.now()
      const ageMs = networks === undefined ? Infinity : requestedAt - networks.requestedAt
      // A negative age means that the clock was set back.
      if (networks === undefined || fresh || ageMs < 0 || ageMs >= maxNetworksAgeMs) {
        const response = (await call('listNetworks', {}, callOptions)) as ResponseTo<'listNetworks'>
        networks = { requestedAt, response }
      }
      const { data, meta, body } = networks.response
      // A copy for each caller: changes of one aren't seen by the others.
      return { ...networks.response, ...structuredClone({ data, meta, body }) }
    }

    const get = async (path: string, query: Query = {}, callOptions?: CallOptions) =>
      transport(toGetRequest(path, query), callOptions, signalOfRun?.())
    const ids = Object.keys(routes) as OperationId[]
    // Only the envelope of a response is checked. The types of its data come from the schemas.
    const methods = Object.fromEntries(ids.map((id) => [id, methodOf(id)])) as unknown as ApiClient
    return Object.freeze<ApiClient>({ ...methods, listNetworks, get })
  }
}

interface PagesOptions<Item> {
  /** Name of the list, for messages. */
  readonly name: string
  /** Undefined = the first page. */
  readonly cursor: string | undefined
  readonly fetchPage: (cursor: string | undefined) => Promise<PageOf<Item>>
  readonly log: Logger
}

/**
 * Reads a list by its pages: a page without `next_cursor` is the last (R120). Other pages may be empty. A repeated cursor, which
 * would never end, is an ApiError `cursor_repeated`.
 */
function toPages<Item>({ name, cursor: first, fetchPage, log }: PagesOptions<Item>): Pages<Item> {
  async function* pages(): AsyncGenerator<PageOf<Item>, void> {
    const seen = new Set<string>()
    let [cursor, received, announced] = [first, 0, 0]
    for (;;) {
      if (cursor !== undefined) seen.add(cursor)
      const page = await fetchPage(cursor)
      yield page
      received += page.data.length
      if (cursor === first) announced = page.meta.total ?? 0
      const next: unknown = page.meta.next_cursor ?? ''
      if (next === '') break
      if (typeof next !== 'string')
        throw unreadable(name, page, 'answer_invalid', `its next_cursor is a ${typeof next}, not a string`)
      if (seen.has(next))
        throw unreadable(name, page, 'cursor_repeated', 'its next_cursor leads back to an earlier page')
      cursor = next
    }
    // Every item counted at the first page must be on some page (R122).
    if (first === undefined && received < announced) log.warn({ list: name, received, announced }, 'list ended early')
  }

  return {
    page: () => fetchPage(first),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data
    },
  }
}

function unreadable(name: string, page: PageOf<unknown>, code: string, problem: string): ApiError {
  const { status, requestId, body } = page
  const message = `${name}: the list can't be read to its end: ${problem}`
  return new ApiError(message, { code, status, requestId, body, isRetryable: true })
}
