import { createHmac } from 'node:crypto'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { isSuccess, post, toHttpError } from './common/http.ts'
import {
  bodyOf,
  headerText,
  oneOrMore,
  longRetry,
  shownOption,
  type SinkKind,
  type SinkSetup,
  type SinkTools,
} from './common/kind.ts'

const secretHint =
  'expected `whsec_` and base64, or other text of at least 24 visible ASCII characters; a list during a rotation'
const secret = z.string(secretHint).refine((text) => keyOf(text).length >= 16, secretHint)

const httpUrl = z
  .string()
  .refine((text) => {
    const { protocol, username, password } = URL.parse(text) ?? {}
    return /^https?:$/.test(protocol ?? '') && username === '' && password === ''
  }, 'expected an http or https URL without user name and password')
  .transform((text) => new URL(text).href)

/** Headers of the connection, or set by the sink. */
const reservedHeaders: ReadonlySet<string> = new Set(
  (
    'connection content-length content-type expect host idempotency-key keep-alive te trailer transfer-encoding upgrade ' +
    'webhook-id webhook-signature webhook-timestamp x-inbox-attempt x-inbox-event-id'
  ).split(' '),
)

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'expected the name of a header')
  .toLowerCase()
  .refine((name) => !reservedHeaders.has(name), 'expected a header that the sink does not set')
const headerValue = z
  .string()
  .regex(/^[\t -~]{0,4096}$/, { error: 'expected ASCII text without line breaks, of at most 4096 characters' })

const options = z
  .strictObject({
    url: httpUrl,
    /** `original`: the sender's signature, with the secret that verified the event. */
    signature: z.enum(['original', 'standard-webhooks', 'none']).default('original'),
    /** For `standard-webhooks`. Each secret signs. */
    secret: oneOrMore(secret, 5).optional(),
    /** `raw`: the exact bytes. `cloudevents`: CloudEvents 1.0 in structured mode. */
    format: z.enum(['raw', 'cloudevents']).default('raw'),
    /** `source` of CloudEvents of the default source; others get `/<source>` behind it. */
    cloudEventsSource: z
      .string()
      .regex(/^[!-~]{1,200}$/, 'expected a URI reference')
      .default('urn:onchain-inbox'),
    headers: z.record(headerName, headerValue).default({}),
    /** Answers that make a dead letter at once. */
    terminalStatuses: z.array(z.int().min(400).max(599)).default([]),
  })
  .refine((options) => (options.signature === 'standard-webhooks') === (options.secret !== undefined), {
    path: ['secret'],
    error: "expected together with signature: 'standard-webhooks', and only then",
  })

type Options = z.output<typeof options>

/**
 * Posts events to an app: by default the exact bytes and signature of the sender. Enqueued items are posted as JSON,
 * signed the same way. A 2xx means done; anything else is retried for about a day.
 */
export default {
  options,
  target: ({ url }) => shownOption(url, { withPath: true }),
  example: "{ kind: 'forward', url: 'http://127.0.0.1:3000/webhooks' }",
  create,
} satisfies SinkKind<typeof options>

function create({ options }: SinkSetup<Options>, tools: SinkTools): Readonly<SinkDefinition> {
  return {
    timeoutMs: 30_000,
    ...longRetry,
    async send([item], { signal }) {
      if (item === undefined) return
      const isRaw = options.format === 'raw'
      const body = isRaw ? bodyOf(item) : toCloudEvent(item, options.cloudEventsSource)
      const signature = signatureOf(item, body, options, tools)
      // The response may echo the request: signatures and tokens must not get into dead letters and logs.
      const { 'webhook-id': _id, ...signed } = signature
      const response = await post({
        url: options.url,
        headers: {
          'user-agent': 'onchain-inbox',
          ...options.headers,
          'Content-Type': isRaw ? 'application/json' : 'application/cloudevents+json',
          ...signature,
          'Idempotency-Key': headerText(item.idempotencyKey),
          'X-Inbox-Event-Id': headerText(item.event.uid),
          'X-Inbox-Attempt': String(item.attempt),
          ...(item.traceparent !== null && { traceparent: item.traceparent }),
        },
        body,
        signal,
        receiver: 'the app',
        secrets: secretsIn([...Object.values(options.headers), ...Object.values(signed)]),
      })
      if (isSuccess(response)) return
      const error = toHttpError(response, 'the app')
      throw options.terminalStatuses.includes(response.status) ? new TerminalError(error.message) : error
    },
  }
}

/** Possible secrets in header values: each value, and its longer words. */
function secretsIn(values: readonly string[]): string[] {
  return values.flatMap((value) => [value, ...value.split(/[\s,;]+/)]).filter(({ length }) => length >= 8)
}

function signatureOf(
  item: SinkItem,
  body: Uint8Array,
  { signature, secret = [] }: Options,
  tools: SinkTools,
): Readonly<Record<string, string>> {
  switch (signature) {
    case 'original':
      return { [tools.signatureHeader]: tools.sign(body, item.secretLabel) }
    case 'standard-webhooks':
      return standardWebhookHeaders(body, item.idempotencyKey, secret)
    case 'none':
      return {}
  }
}

/** Signing key of a secret; empty: invalid. */
function keyOf(secret: string): Buffer {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []
  if (encoded !== undefined) return Buffer.from(encoded, 'base64')
  return Buffer.from(!secret.startsWith('whsec_') && /^[!-~]{24,200}$/.test(secret) ? secret : '')
}

/** Signature headers of Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. */
function standardWebhookHeaders(body: Uint8Array, id: string, secrets: readonly string[]) {
  // Dots separate the parts of the signed text.
  const escapedId = headerText(id).replaceAll('.', '%2E')
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${escapedId}.${timestamp}.`).update(body)
    return `v1,${hmac.digest('base64')}`
  })
  return { 'webhook-id': escapedId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** Type of enqueued items. */
const itemType = 'onchain-inbox.item'

/** CloudEvent 1.0 in structured mode: one JSON object. Numbers keep every digit. */
function toCloudEvent(item: SinkItem, source: string): Uint8Array {
  const { event, key, payload, idempotencyKey } = item
  const isItem = payload !== undefined
  const isDefault = event.source === 'default'
  const cloudEvent = {
    specversion: '1.0',
    id: isItem ? idempotencyKey : event.uid,
    source: isDefault ? source : `${source}/${event.source}`,
    type: isItem ? itemType : event.type,
    ...(key !== null && { subject: key }),
    time: event.created_at,
    datacontenttype: 'application/json',
    data: isItem ? payload : isDefault ? bodyIn(event).data : bodyIn(event),
  }
  return new TextEncoder().encode(JSON.stringify(cloudEvent))
}

function bodyIn({ raw }: SinkItem['event']) {
  const exact = parse(new TextDecoder().decode(raw), (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? rawJSON(source) : value,
  )
  return exact as { readonly data?: unknown }
}
