import {
  QueryClient,
  QueryClientProvider,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query'
import { createContext, useContext, useState, type ReactNode } from 'react'
import { parseExactJson } from '../../base/exact-json.ts'

export type Method = 'POST' | 'PATCH' | 'DELETE'

/** Calls the server of the page. Every method throws `ApiError`. */
export interface Api {
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  send<T>(method: Method, path: string, body?: object): Promise<T>
  bytes(path: string, signal?: AbortSignal): Promise<Uint8Array>
  /** Address of a path, for links that download. */
  urlOf(path: string): string
}

/** A field of a request that the server rejected. */
interface ApiProblem {
  readonly path: string
  readonly message: string
}

/** `status` is 0 if the server did not answer. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly problems: readonly ApiProblem[]

  constructor(status: number, message: string, problems: readonly ApiProblem[] = []) {
    super(message)
    this.status = status
    this.problems = problems
  }
}

export interface ApiOptions {
  /** Where the API is, relative to the page. */
  readonly base: string
  /** Name of the server in an error: `The inbox`. */
  readonly server: string
  /** The payload of a successful response. Default: all of it. */
  readonly unwrap?: (body: unknown) => unknown
  /** Called for a 401 response, except to the request for the session itself. */
  readonly onSignedOut: () => void
}

/** Its 401 shows the sign-in. */
const sessionPath = '/session'

interface ErrorBody {
  readonly error?: { readonly message?: string; readonly details?: readonly ApiProblem[] }
}

/** Numbers in responses keep every digit: see `parseExactJson`. */
export function createApi({ base, server, unwrap = (body) => body, onSignedOut }: ApiOptions): Api {
  async function request(path: string, init: RequestInit): Promise<Response> {
    const response = await fetch(base + path, init).catch((error: unknown) => {
      if (init.signal?.aborted) throw error
      throw new ApiError(0, `${server} does not answer. Is it running?`)
    })
    if (response.ok) return response
    if (response.status === 401 && path !== sessionPath) onSignedOut()
    const body = (await readJson(response)) as ErrorBody | undefined
    throw new ApiError(response.status, body?.error?.message ?? `HTTP status ${response.status}`, body?.error?.details)
  }

  async function call<T>(path: string, init: RequestInit): Promise<T> {
    const response = await request(path, init)
    const body = await readJson(response)
    if (body === undefined) throw new ApiError(response.status, 'the response is not JSON')
    return unwrap(body) as T
  }

  const headers = { 'Content-Type': 'application/json' }
  return {
    get: (path, signal) => call(path, signal === undefined ? {} : { signal }),
    send: (method, path, body) =>
      call(path, { method, ...(body !== undefined && { headers, body: JSON.stringify(body) }) }),
    async bytes(path, signal) {
      const response = await request(path, signal === undefined ? {} : { signal })
      return new Uint8Array(await response.arrayBuffer())
    },
    urlOf: (path) => base + path,
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return parseExactJson(await response.text())
  } catch {
    return undefined
  }
}

const ApiContext = createContext<Api | null>(null)

/** Provides the API and a cache of its responses, which ends with this component. */
export function ApiProvider({ api, children }: { readonly api: Api; readonly children: ReactNode }) {
  const [client] = useState(
    () =>
      new QueryClient({
        defaultOptions: {
          // The stream reports changes, and Retry is a button.
          queries: { retry: false, refetchOnWindowFocus: false, staleTime: 1_000, networkMode: 'always' },
          mutations: { networkMode: 'always' },
        },
      }),
  )
  return (
    <ApiContext value={api}>
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    </ApiContext>
  )
}

export function useApi(): Api {
  const api = useContext(ApiContext)
  if (api === null) throw new Error('missing ApiProvider')
  return api
}

export interface GetOptions<T> {
  /** Time between two reads, which may depend on the data. Default: none. */
  readonly pollMs?: number | ((data: T | undefined) => number)
}

/** The response to `GET path`, cached by path; null requests nothing. */
export function useGet<T>(path: string | null, { pollMs }: GetOptions<T> = {}): UseQueryResult<T> {
  const api = useApi()
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => api.get<T>(path ?? '', signal),
    enabled: path !== null,
    refetchInterval: typeof pollMs === 'function' ? ({ state }) => pollMs(state.data) : (pollMs ?? false),
  })
}

/** A page of a list. */
export interface ListJson<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
}

export interface PagesOptions {
  /** Responses with few rows are followed by more requests until a page has this many rows. Default 0. */
  readonly minRows?: number
  /** Time limit of these requests. */
  readonly searchMs?: number
  /** Time between two reads. Default: none. */
  readonly pollMs?: number | undefined
}

/** Pages of a list. `pathOf` is called at each request, so it may depend on the time. */
export function usePages<P extends ListJson<unknown>>(
  key: string,
  pathOf: (cursor: string | null) => string,
  { minRows = 0, searchMs = 0, pollMs }: PagesOptions = {},
) {
  const api = useApi()
  return useInfiniteQuery<P, Error, InfiniteData<P, string | null>, readonly unknown[], string | null>({
    queryKey: [key, 'pages'],
    async queryFn({ signal, pageParam }) {
      const until = performance.now() + searchMs
      let page = await api.get<P>(pathOf(pageParam), signal)
      while (page.next_cursor !== null && page.data.length < minRows && performance.now() < until) {
        const next = await api.get<P>(pathOf(page.next_cursor), signal)
        page = { ...next, data: [...page.data, ...next.data] }
      }
      return page
    },
    initialPageParam: null,
    refetchInterval: pollMs ?? false,
    getNextPageParam: (last) => last.next_cursor,
  })
}

/** An action of the operator. Afterwards everything on the page is read again. */
export function useAction<I, O>(run: (api: Api, input: I) => Promise<O>): UseMutationResult<O, Error, I> {
  const api = useApi()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: I) => run(api, input),
    onSuccess: () => void client.invalidateQueries(),
  })
}

/** The bytes of a `*_base64` member. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

/** A path with the parameters that are neither empty nor undefined. */
export function pathWith(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  return query.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query.toString()}`
}
