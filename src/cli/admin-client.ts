import { parseExactJson } from '../admin/exact-json.ts'
import type { Query } from '../admin/parse.ts'
import { operations, type AdminCalls, type AnswerOf } from '../admin/routes.ts'
import { errorCatalogue, InboxError, messageOf, type ErrorCode } from '../base/errors.ts'

export interface AdminClientOptions {
  /** Where the admin side of a running sidecar listens, for example http://127.0.0.1:8081. */
  readonly url: string
  readonly token: string
}

const timeoutMs = 5_000
/** Actions may take longer. */
const actionTimeoutMs = 280_000

/** The admin API of a running sidecar. Throws the error it answers, or `admin_unreachable`. */
export function createAdminClient(options: AdminClientOptions): AdminCalls {
  const base = parseAdminUrl(options.url)

  async function send(path: string, init: RequestInit, limitMs: number): Promise<Buffer> {
    const headers = { Authorization: `Bearer ${options.token}`, 'Content-Type': 'application/json' }
    const { response, bytes } = await exchange(new URL(`api/v1${path}`, base), { headers, ...init }, limitMs)
    if (!response.ok) throw toError(response.status, bytes, base)
    return bytes
  }

  return {
    async call(operation, { id, query = {}, body } = {}) {
      const { method, path } = operations[operation]
      const target = path.replace(':id', () => segment(id ?? '')) + search(query)
      const init = method === 'get' ? {} : { method: method.toUpperCase(), body: JSON.stringify(body ?? {}) }
      const bytes = await send(target, init, method === 'get' ? timeoutMs : actionTimeoutMs)
      // The other side is the same program: its answers are not checked again.
      return parseExactJson(bytes.toString()) as AnswerOf<typeof operation>
    },
    rawEvent: (id) => send(`/events/${segment(id)}/raw`, {}, timeoutMs),
  }
}

/** Whether a sidecar answers at this URL; nothing secret is sent. */
export async function isSidecarAt(url: string): Promise<boolean> {
  try {
    const { bytes } = await exchange(new URL('healthz', parseAdminUrl(url)), {})
    return bytes.toString() === '{"status":"alive"}'
  } catch (error) {
    if (error instanceof InboxError && error.code === 'admin_unreachable') return false
    throw error
  }
}

async function exchange(url: URL, init: RequestInit, limitMs = timeoutMs) {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(limitMs) })
    return { response, bytes: Buffer.from(await response.arrayBuffer()) }
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : messageOf(error)
    throw new InboxError(
      'admin_unreachable',
      `no answer from the admin API at ${url.origin} (${reason}): start \`onchain-inbox serve\`, or give its address by ` +
        '--admin-url',
      { cause: error },
    )
  }
}

function parseAdminUrl(text: string): URL {
  const url = URL.parse(text.endsWith('/') ? text : `${text}/`)
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === ''
  if (isUsable) return url
  throw new InboxError(
    'usage',
    '--admin-url: expected a URL such as http://127.0.0.1:8081, without user name and password',
  )
}

function toError(status: number, bytes: Buffer, base: URL): InboxError {
  const { code, message } = readError(bytes)
  if (status === 401) {
    const advice = 'set INBOX_ADMIN_TOKEN or INBOX_ADMIN_TOKEN_FILE to the one that the sidecar was started with'
    return new InboxError('unauthorized', `the admin API at ${base.origin} does not take this token: ${advice}`)
  }
  if (code !== undefined) return new InboxError(code, message)
  return new InboxError('admin_unreachable', `what answers at ${base.origin} is not the admin API (status ${status})`)
}

function readError(bytes: Buffer): { code: ErrorCode | undefined; message: string } {
  try {
    const { error } = JSON.parse(bytes.toString()) as { error: { code: string; message: string } }
    return {
      code: Object.hasOwn(errorCatalogue, error.code) ? (error.code as ErrorCode) : undefined,
      message: error.message,
    }
  } catch {
    return { code: undefined, message: '' }
  }
}

function search(query: Query): string {
  const given = Object.entries(query).map(([name, value]) => [name, String(value)])
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

/** An id as one part of a path. A URL takes `.` and `..` for something else, however they are encoded. */
function segment(id: string): string {
  if (id !== '' && id !== '.' && id !== '..') return encodeURIComponent(id)
  throw new InboxError('usage', `the id "${id}" cannot be asked for through the admin API`)
}
