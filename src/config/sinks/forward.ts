import { z } from 'zod'
import { httpUrl } from '../values.ts'

const secretHint =
  'expected `whsec_` and base64, or other text of at least 24 visible ASCII characters; several while one takes the place of another'
const secret = z.string(secretHint).refine((text) => keyBytes(text) >= 16, secretHint)

const secrets = z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(secret).min(1).max(5))

/** They belong to the connection, or are set by the sink itself. */
const ownHeaders: ReadonlySet<string> = new Set(
  (
    'connection content-length content-type expect host idempotency-key keep-alive te trailer transfer-encoding upgrade ' +
    'webhook-id webhook-signature webhook-timestamp x-inbox-attempt x-inbox-event-id'
  ).split(' '),
)

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'expected the name of a header')
  .toLowerCase()
  .refine((name) => !ownHeaders.has(name), 'expected none of the headers that are set anyway')
const headerValue = z
  .string()
  .regex(/^[\t -~]{0,4096}$/, { error: 'expected ASCII text without line breaks, of at most 4096 characters' })

/** Events are posted to an app over HTTP. */
export const forwardOptions = z
  .strictObject({
    url: httpUrl,
    /** `original`: as the sender signs, with the secret that verified the event. */
    signature: z.enum(['original', 'standard-webhooks', 'none']).default('original'),
    /** For `standard-webhooks`. The first signs, and so do all others. */
    secret: secrets.optional(),
    /** `raw`: the bytes as they came. `cloudevents`: CloudEvents 1.0, structured. `cloudevents-binary`: its attributes in headers. */
    format: z.enum(['raw', 'cloudevents', 'cloudevents-binary']).default('raw'),
    /** What CloudEvents call the source. */
    source: z
      .string()
      .regex(/^[!-~]{1,200}$/, 'expected a URI reference')
      .default('urn:onchain-inbox'),
    headers: z.record(headerName, headerValue).default({}),
    /** Answers that mean that it is no use to try again. */
    terminalStatuses: z.array(z.int().min(400).max(599)).default([]),
  })
  .refine(({ signature, secret: given }) => (signature === 'standard-webhooks') === (given !== undefined), {
    path: ['secret'],
    error: "expected together with signature: 'standard-webhooks', and only then",
  })

export type ForwardOptions = z.output<typeof forwardOptions>

/** How many bytes a secret signs with; 0: it cannot be used. */
function keyBytes(text: string): number {
  if (!text.startsWith('whsec_')) return /^[!-~]{24,200}$/.test(text) ? text.length : 0
  const encoded = text.slice('whsec_'.length)
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64').length : 0
}
