import { createContext, useContext } from 'react'

export type Method = 'POST' | 'PATCH' | 'DELETE'

/** What a page calls its server by; each page has its own, since their envelopes differ. Both throw `ApiError`. */
export interface Api {
  get<T>(path: string, signal?: AbortSignal): Promise<T>
  send<T>(method: Method, path: string, body?: object): Promise<T>
}

/** One place of a request that the server did not take as it was. */
export interface ApiProblem {
  readonly path: string
  readonly message: string
}

/** An answer that is no success, or no answer at all: then `status` is 0. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly problems: readonly ApiProblem[]

  constructor(status: number, code: string, message: string, problems: readonly ApiProblem[] = []) {
    super(message)
    this.status = status
    this.code = code
    this.problems = problems
  }
}

export const ApiContext = createContext<Api | null>(null)

/** The API of the page; throws outside of an `ApiContext`. */
export function useApiClient(): Api {
  const api = useContext(ApiContext)
  if (api === null) throw new Error('expected an ApiContext around the components of a page')
  return api
}
