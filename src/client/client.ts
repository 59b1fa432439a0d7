import { routes, type OperationId } from '../../schema/rest/routes.ts'
import type { AnswerTo, ApiAnswer, ApiClient, CallOptions, NetworksOptions, PageOf, Pages, Query } from './api.ts'
import { ApiProtocolError, ApiTimeoutError } from './errors.ts'
import type { Logger } from '../base/log.ts'
import { parseClientOptions, parseTimeout, type ClientOptions } from './options.ts'
import { toGetRequest, toRequest } from './request.ts'
import { anyOf, orAborted, Transport } from './transport.ts'

/** Creates clients that share everything except a signal, which is read when a call begins. Their calls are paced together. */
export type ClientFamily = (signal?: () => AbortSignal) => ApiClient

/**
 * A client of the REST service. Waits for the rate limit (R107, R117–R119), retries calls that are safe to repeat, and never
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

/** `createClient` for several users, each with its own signal. */
export function createClientFamily(options: ClientOptions): ClientFamily {
  const transport = new Transport(parseClientOptions(options))
  const networks = createNetworksCache(transport)
  return (signal) => toClient(transport, networks, signal)
}

type Arguments = Readonly<Record<string, unknown>>
type NetworksAnswer = AnswerTo<'listNetworks'>
type NetworksCache = (fresh: boolean) => Promise<NetworksAnswer>

function toClient(transport: Transport, networks: NetworksCache, ofRun?: () => AbortSignal): ApiClient {
  const call = async (id: OperationId, args: Arguments, options?: CallOptions): Promise<ApiAnswer<unknown>> =>
    transport.call(toRequest(routes[id], args), options, ofRun?.())

  const methodOf = (id: OperationId) => {
    if (routes[id].data !== 'page') return (args: Arguments = {}, options?: CallOptions) => call(id, args, options)
    return (args: Arguments = {}, options?: CallOptions) =>
      toPages({
        name: id,
        cursor: typeof args['cursor'] === 'string' ? args['cursor'] : undefined,
        fetchPage: async (cursor) => (await call(id, { ...args, cursor }, options)) as PageOf<unknown>,
        log: transport.log,
      })
  }

  /** A caller that aborts leaves the request to the others. */
  async function listNetworks({ fresh = false }: NetworksOptions = {}, { signal, timeoutMs }: CallOptions = {}) {
    parseTimeout(timeoutMs)
    const late = new AbortController()
    const timer =
      timeoutMs === undefined ? null : transport.clock.after(timeoutMs, () => late.abort(tooLate(timeoutMs)))
    try {
      const ending = anyOf(ofRun?.(), signal, late.signal)
      ending.throwIfAborted()
      const answer = await orAborted(networks(fresh), ending)
      // A copy for each caller: changes of one aren't seen by the others.
      return { ...answer, ...structuredClone({ data: answer.data, meta: answer.meta, body: answer.body }) }
    } finally {
      timer?.cancel()
    }
  }

  const get = async (path: string, query: Query = {}, options?: CallOptions) =>
    transport.call(toGetRequest(path, query), options, ofRun?.())
  const ids = Object.keys(routes) as OperationId[]
  // Only the envelope of an answer is checked. The types of its data come from the schemas.
  const methods = Object.fromEntries(ids.map((id) => [id, methodOf(id)])) as unknown as ApiClient
  return Object.freeze<ApiClient>({ ...methods, listNetworks, get })
}

const networksMs = 300_000

/** Keeps the list of networks for five minutes from its request (R123). Concurrent calls share a request; a failure is not kept. */
function createNetworksCache(transport: Transport): NetworksCache {
  const { clock } = transport
  let kept: { readonly answer: Promise<NetworksAnswer>; readonly requestedAt: number; isPending: boolean } | undefined

  function isUsable(fresh: boolean): boolean {
    if (kept === undefined || kept.isPending) return kept !== undefined
    const ageMs = clock.now() - kept.requestedAt
    // A negative age means that the clock was set back.
    return !fresh && ageMs >= 0 && ageMs < networksMs
  }

  return (fresh) => {
    if (kept !== undefined && isUsable(fresh)) return kept.answer
    const answer = transport.call(toRequest(routes.listNetworks, {})) as Promise<NetworksAnswer>
    const requested = { answer, requestedAt: clock.now(), isPending: true }
    kept = requested
    answer.then(
      () => (requested.isPending = false),
      () => kept === requested && (kept = undefined),
    )
    return answer
  }
}

function tooLate(timeoutMs: number): ApiTimeoutError {
  return new ApiTimeoutError(`GET /networks took longer than ${timeoutMs} ms: raise timeoutMs`, {
    code: 'timed_out',
    isRetryable: true,
  })
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
 * would never end, is an ApiProtocolError `cursor_repeated`.
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
      cursor = nextCursor(name, page)
      if (cursor === undefined) break
      if (seen.has(cursor))
        throw unusable(name, page, 'cursor_repeated', 'its next_cursor leads back to an earlier page')
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

function nextCursor(name: string, page: PageOf<unknown>): string | undefined {
  const cursor: unknown = page.meta.next_cursor
  if (cursor === undefined || cursor === null || cursor === '') return undefined
  if (typeof cursor === 'string') return cursor
  throw unusable(name, page, 'answer_invalid', `its next_cursor is a ${typeof cursor}, not a string`)
}

function unusable(
  name: string,
  { status, requestId, body }: PageOf<unknown>,
  code: string,
  problem: string,
): ApiProtocolError {
  return new ApiProtocolError(`${name}: the list can't be read to its end: ${problem}`, {
    code,
    status,
    requestId,
    body,
    isRetryable: true,
  })
}
