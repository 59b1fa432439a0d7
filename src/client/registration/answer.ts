/** What to keep of an answer of the service, and what not to. */
export interface KeptAnswer {
  /** JSON without anything secret, at most 64 KiB; null if there is no body. */
  readonly text: string | null
  /** A secret that the service made: it is not kept. */
  readonly secret: string | null
}

const longest = 65_536
const hidden = '(not kept)'
const secretName = /secret|token|password|api_?key/i

/** Members whose names say that they are secret are hidden, and so is `given` wherever it stands. */
export function keepAnswer(body: unknown, given: string): KeptAnswer {
  let secret: string | null = null
  const text = JSON.stringify(body, (name, value: unknown) => {
    if (value === null || typeof value === 'boolean') return value
    if (!secretName.test(name)) return typeof value === 'string' ? value.replaceAll(given, hidden) : value
    if (name === 'secret' && typeof value === 'string' && value !== '' && value !== given) secret ??= value
    return hidden
  }) as string | undefined
  return { text: text === undefined ? null : text.slice(0, longest), secret }
}

/** The id that the service gave to the webhook, where it stands where ours does (A8). */
export function webhookIdOf(body: unknown): string | null {
  const data = memberOf(body, 'data')
  const id = memberOf(data, 'webhook_id') ?? memberOf(data, 'id')
  return typeof id === 'string' ? id : null
}

/** A kept answer as it was; undefined where there was none, or it was too long to be kept whole. */
export function parseKept(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}
