import { defineSink, TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import type { ForwardOptions } from '../../src/config/sinks/forward.ts'
import type { SinkSetup, SinkTools } from '../../src/dispatch/bundled-sinks.ts'
import { bodyOf, headerText } from './common/body.ts'
import { toBinary, toStructured, type PostedBody } from './common/cloudevents.ts'
import { refusal, sendHttp } from './common/http.ts'
import { hider } from './common/post.ts'
import { standardWebhookHeaders } from './common/standard-webhooks.ts'

/**
 * Posts events to an app over HTTP: as they are the bytes as they came, with their signature, so that the app can take them as if
 * the sender had posted them; and what handlers enqueue for it, as JSON, signed alike. Any 2xx means done. Anything else is tried
 * again, for about a day: from 1 s on, doubling up to 10 minutes, and not before what `Retry-After` says. While the app is down,
 * one event at a time is tried.
 */
export default function createForward(
  { name, options }: SinkSetup<ForwardOptions>,
  tools: SinkTools,
): Readonly<SinkDefinition> {
  return defineSink({
    name,
    timeoutMs: 30_000,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send([item], { signal }) {
      if (item === undefined) return
      const { headers, body } = posted(item, options)
      const signature = signatureOf(item, body, options, tools)
      const answer = await sendHttp(options.url, {
        headers: {
          'user-agent': 'onchain-inbox',
          ...options.headers,
          ...headers,
          ...signature,
          'Idempotency-Key': headerText(item.idempotencyKey),
          'X-Inbox-Event-Id': headerText(item.event.id),
          'X-Inbox-Attempt': String(item.attempt),
          ...(item.traceparent !== null && { traceparent: item.traceparent }),
        },
        body,
        signal,
      })
      if (answer.status >= 200 && answer.status < 300) return
      // An app that fails may answer with what it got: neither signatures nor tokens get into dead letters and logs by that.
      const { 'webhook-id': _id, ...signed } = signature
      const hide = hider(secretsIn([...Object.values(options.headers), ...Object.values(signed)]))
      const refused = refusal({ ...answer, text: hide(answer.text) }, 'the app')
      throw options.terminalStatuses.includes(answer.status) ? new TerminalError(refused.message) : refused
    },
  })
}

/** What of the values of headers may be secret: each as a whole, and the longer words in it. */
function secretsIn(values: readonly string[]): string[] {
  return values.flatMap((value) => [value, ...value.split(/[\s,;]+/)]).filter(({ length }) => length >= 8)
}

function posted(item: SinkItem, { format, source }: ForwardOptions): PostedBody {
  switch (format) {
    case 'raw':
      return { headers: { 'Content-Type': 'application/json' }, body: bodyOf(item) }
    case 'cloudevents':
      return toStructured(item, source)
    case 'cloudevents-binary':
      return toBinary(item, source)
  }
}

function signatureOf(
  item: SinkItem,
  body: Uint8Array,
  { signature, secret = [] }: ForwardOptions,
  tools: SinkTools,
): Readonly<Record<string, string>> {
  switch (signature) {
    case 'original':
      return { [tools.signatureHeader]: tools.sign(body, item.secretLabel) }
    case 'standard-webhooks':
      return standardWebhookHeaders(body, { id: item.idempotencyKey, secrets: secret, now: Date.now() })
    case 'none':
      return {}
  }
}
