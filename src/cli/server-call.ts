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

/** Sends a request without following redirects. Throws the server's error as an InboxError, or `code` of the server. */
export async function callServer(server: ServerKind, url: URL, init: RequestInit): Promise<Response> {
  const response = await reach(server, url, () => fetch(url, { ...init, redirect: 'error' }))
  if (response.ok) return response
  const error = errorIn((await readBytes(server, url, response)).toString())
  if (error === null) throw otherServer(server, url, response)
  if (response.status === 401)
    throw new InboxError('unauthorized', `${url.origin} rejected the token: ${server.tokenAdvice}`)
  const { code, message } = error
  const other = response.status === 503 ? 'overloaded' : 'bad_request'
  throw new InboxError(Object.hasOwn(errorCatalogue, code) ? (code as ErrorCode) : other, safeText(message, 10_000))
}

/** The body of a response. */
export function readBytes(server: ServerKind, url: URL, response: Response): Promise<Buffer> {
  return reach(server, url, async () => Buffer.from(await response.arrayBuffer()))
}

/** The error if another program answers. */
export function otherServer({ code, name, advice }: ServerKind, { origin }: URL, { status }: Response): InboxError {
  return new InboxError(code, `${origin} is not ${name} (status ${status}): ${advice}`)
}

async function reach<T>({ code, name, advice }: ServerKind, { origin }: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw new InboxError(code, `no answer from ${name} at ${origin} (${messageOf(cause)}): ${advice}`, { cause: error })
  }
}

function errorIn(text: string): { readonly code: string; readonly message: string } | null {
  try {
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } }
    return typeof error.message === 'string' ? error : null
  } catch {
    return null
  }
}
