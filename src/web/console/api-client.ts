import { ApiError, type Api } from '../ui/api.ts'
import { parseExact } from '../ui/exact-json.ts'

export { queryOf } from '../ui/query-of.ts'

interface ErrorAnswer {
  readonly error?: { readonly code: string; readonly message: string }
}

/** The API of the console, which can also give bytes as they are. */
export interface ConsoleApi extends Api {
  /** Throws `ApiError`. */
  bytes(path: string, signal?: AbortSignal): Promise<Uint8Array>
}

/** Where the admin API is, seen from the page. */
export const base = './api/v1'

/** Calls the admin API with the session of the browser; `onSignedOut` is told of every 401. */
export function createApi(onSignedOut: () => void): ConsoleApi {
  async function ask(path: string, init: RequestInit): Promise<Response> {
    const response = await fetch(base + path, init).catch((error: unknown) => {
      if (init.signal?.aborted) throw error
      throw new ApiError(0, 'unreachable', 'The inbox does not answer. Is it still running?')
    })
    if (response.ok) return response
    if (response.status === 401) onSignedOut()
    const answer = await readJson<ErrorAnswer>(response)
    const { code, message } = answer?.error ?? { code: 'unknown', message: `Answered ${response.status}.` }
    throw new ApiError(response.status, code, message)
  }

  async function call<T>(path: string, init: RequestInit): Promise<T> {
    const response = await ask(path, init)
    const answer = await readJson<T>(response)
    if (answer === null) throw new ApiError(response.status, 'unknown', 'Answered something that is no JSON.')
    return answer
  }

  return {
    get: (path, signal) => call(path, signal === undefined ? {} : { signal }),
    send: (method, path, body) =>
      call(path, {
        method,
        ...(body !== undefined && {
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
      }),
    async bytes(path, signal) {
      const response = await ask(path, signal === undefined ? {} : { signal })
      return new Uint8Array(await response.arrayBuffer())
    },
  }
}

async function readJson<T>(response: Response): Promise<T | null> {
  try {
    return parseExact(await response.text()) as T | null
  } catch {
    return null
  }
}
