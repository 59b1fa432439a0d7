import { sendHttp, type Answer } from './http.ts'

/** How long one request may take, whatever the send around it may. */
const requestMs = 15_000

export interface JsonPost {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal: AbortSignal
  /** Whom it goes to, for messages. */
  readonly who: string
  readonly hide: (text: string) => string
}

/**
 * Posts JSON and gives the answer, whatever its status. Throws an Error without any secret where there is none. The answer's
 * text is clean of them as well.
 */
export async function postJson({ url, headers, body, signal, who, hide }: JsonPost): Promise<Answer> {
  const timeout = AbortSignal.timeout(requestMs)
  try {
    const answer = await sendHttp(url, {
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'onchain-inbox', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, timeout]),
    })
    return { ...answer, text: hide(answer.text) }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (timeout.aborted) throw new Error(`${who} did not answer within ${requestMs / 1_000} s`)
    throw new Error(`${who} could not be reached: ${hide(reasonOf(error))}`)
  }
}

/** `fetch` says what went wrong in the cause, and of several tries in the errors of that. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.message : 'the request failed'
}

/** A function that takes secrets out of a text, also where they stand percent-encoded. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)])
  return (text) => hidden.reduce((clean, secret) => clean.replaceAll(secret, '[hidden]'), text)
}

/** What of a URL is secret: its path, the path's longer parts, and its query. */
export function secretsOf(url: string): string[] {
  const { pathname, search } = new URL(url)
  const parts = pathname.split('/').filter((part) => part.length >= 8)
  return [url, `${pathname}${search}`, pathname, search, ...parts].filter((secret) => secret.length >= 8)
}

/** A member of an answer in JSON, by its path; undefined where it is not there. */
export function memberOf(answer: Pick<Answer, 'text'>, ...path: readonly string[]): unknown {
  try {
    return path.reduce<unknown>(
      (node, key) =>
        typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined,
      JSON.parse(answer.text),
    )
  } catch {
    return undefined
  }
}
