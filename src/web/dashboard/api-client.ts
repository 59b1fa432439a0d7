import { ApiError, type Api, type ApiProblem } from '../ui/api.ts'

export { queryOf } from '../ui/query-of.ts'

interface Envelope {
  readonly success?: boolean
  readonly data?: unknown
  readonly error?: { readonly code: string; readonly message: string; readonly details?: readonly ApiProblem[] }
}

/** Where the control routes are, seen from the page. */
export const base = './_emulator'

/** Calls the control routes with the session of the browser; `onSignedOut` is told of every 401. */
export function createApi(onSignedOut: () => void): Api {
  async function call<T>(path: string, init: RequestInit): Promise<T> {
    const response = await fetch(base + path, init).catch((error: unknown) => {
      if (init.signal?.aborted) throw error
      throw new ApiError(0, 'unreachable', 'The emulator does not answer. Is it still running?')
    })
    const envelope = await readEnvelope(response)
    if (response.ok && envelope?.success === true) return envelope.data as T
    if (response.status === 401) onSignedOut()
    const { code, message, details } = envelope?.error ?? { code: 'unknown', message: `Answered ${response.status}.` }
    throw new ApiError(response.status, code, message, details)
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
  }
}

async function readEnvelope(response: Response): Promise<Envelope | null> {
  try {
    return (await response.json()) as Envelope | null
  } catch {
    return null
  }
}
