import { InboxError, errorCatalogue, messageOf, type ErrorCode } from '../base/errors.ts'
import { safeText } from '../base/log.ts'

/** A kind of server that commands call. Its errors are `{"error": {"code", "message"}}`. */
export interface ServerKind {
  /** Code if nothing, or another program, answers. */
  readonly code: 'admin_unreachable' | 'emulator_unreachable'
  /** With its article, such as `an emulator`. */
  readonly name: string
  /** What to do if nothing answers. */
  readonly advice: string
  /** What to do if the token is rejected. */
  readonly tokenAdvice: string
}

interface ServerRequest {
  readonly method?: string
  readonly query?: Readonly<Record<string, unknown>>
  /** Sent as JSON. */
  readonly body?: object | undefined
}

const timeoutMs = 10_000
/** Requests that change something may take long. */
const actionTimeoutMs = 280_000

/**
 * Calls a server below `base`, a URL that ends with a slash. Redirects are not followed. Calls throw the server's error as an InboxError,
 * or its `code` if nothing or another program answers.
 */
export function createServerCalls({ code, name, advice, tokenAdvice }: ServerKind, base: URL, token?: string) {
  const { origin } = base

  async function reach<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      const message = `no answer from ${name} at ${origin} (${messageOf(cause)}): ${advice}`
      throw new InboxError(code, message, { cause: error })
    }
  }

  /** The error if another program answers. */
  const otherServer = (status: number) => new InboxError(code, `${origin} is not ${name} (status ${status}): ${advice}`)
  const readBytes = (response: Response) => reach(async () => Buffer.from(await response.arrayBuffer()))

  /** Opens a successful response. */
  async function open(path: string, init: RequestInit): Promise<Response> {
    const headers = {
      'Content-Type': 'application/json',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    }
    const response = await reach(() => fetch(new URL(path, base), { headers, ...init, redirect: 'error' }))
    const { ok, status } = response
    if (ok) return response
    const error = errorIn((await readBytes(response)).toString())
    if (error === null) throw otherServer(status)
    if (status === 401) throw new InboxError('unauthorized', `${origin} rejected the token: ${tokenAdvice}`)
    const known = Object.hasOwn(errorCatalogue, error.code) ? (error.code as ErrorCode) : null
    throw new InboxError(known ?? (status === 503 ? 'overloaded' : 'bad_request'), safeText(error.message, 10_000))
  }

  /** Sends a request, and reads its response. */
  async function send(path: string, { method = 'GET', query = {}, body }: ServerRequest = {}) {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
    const response = await open(search === '' ? path : `${path}?${search}`, {
      method,
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(method === 'GET' ? timeoutMs : actionTimeoutMs),
    })
    return { status: response.status, bytes: await readBytes(response) }
  }

  return { open, send, otherServer }
}

function errorIn(text: string): { readonly code: string; readonly message: string } | null {
  try {
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } }
    return typeof error.message === 'string' ? error : null
  } catch {
    return null
  }
}
