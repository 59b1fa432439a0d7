import { shortText } from '../../ui/text.tsx'

/** What happened, and what to do, by code. */
type Reasons = Readonly<Record<string, string>>

const resend = 'Once the sender is fixed, ask it to send these events again.'
const unknownClient = 'If the client is unknown, someone forged it; nothing was stored.'
const explainer = 'For a source, onchain-inbox verify --source NAME explains a saved delivery.'

/** Why a signed body is not a usable event: the codes of src/receiver/envelope.ts. */
export const quarantineReasons: Reasons = {
  not_utf8: `The bytes are compressed, cut or in another encoding. They begin with 1f 8b for gzip, ff fe for UTF-16. ${resend}`,
  byte_order_mark: `A byte-order mark (ef bb bf) precedes the JSON, which JSON forbids. ${resend}`,
  not_json: `The text is empty, cut or in another format. ${resend}`,
  too_deep:
    'The JSON has more than 64 levels. No documented event has. Rotate the secret if the sender knows nothing of it.',
  not_an_envelope:
    'type, created_at or data is missing or has another type. If the format is new, update onchain-inbox, then retry.',
  own_type: 'Types that begin with inbox. are notifications of the inbox itself. Find out who signs with your secret.',
  not_an_object: `The body is no JSON object, list or text. With this source's signature, bytes of a signed header may have moved into it, or someone sent a captured delivery again. ${resend}`,
  headers_missing: `The id or type was in a header, and headers of quarantined bodies are not kept. ${resend}`,
  unknown_source: 'The settings have no such source any more. Add it again, then retry.',
  bad_id: `The id is missing, empty, longer than 255 characters, or not well-formed Unicode. ${resend}`,
}

/** Why a request was rejected: `signature_` and a reason of src/sources/verify.ts, or a code of docs/errors.md. */
export const rejectReasons: Reasons = {
  signature_missing: `Check that the sender signs, and that no proxy drops the header with the signature. ${explainer} ${unknownClient}`,
  signature_malformed: `A header of the signature has another form than the sender's, such as 64 hex digits. Common: a prefix, base64, a repeated header, or brackets and quotes in a signed header. ${explainer} ${unknownClient}`,
  signature_repeated: `A header of the signature is there more than once. Send it once. ${unknownClient}`,
  signature_unknown_key: `The sender has no public key with the id in the request. Check keys.url: each environment has its own keys. ${unknownClient}`,
  signature_old_timestamp:
    'The signature is valid, but older than allowed. Check the clocks of both sides. Otherwise the delivery was captured and sent again.',
  signature_mismatch: `No configured secret gives this signature. Common: another secret, or a body changed on the way. ${explainer} ${unknownClient}`,
  body_too_large: 'The body exceeds INBOX_BODY_LIMIT. If the sender means it, raise the limit: it retries by itself.',
  content_encoding_unsupported: 'A compressed body differs from the signed bytes. Turn compression off.',
  bad_request: `Contradicting lengths, two Host headers or broken chunks, often from a proxy. ${unknownClient}`,
  body_incomplete: `The connection ended, or the time limit passed, before the whole body arrived. ${unknownClient}`,
  not_found:
    'Only INBOX_PATH and the paths of sources take deliveries. Correct the URL at the sender. Scanners try many paths.',
  method_not_allowed: 'Deliveries are sent with POST. Health checks use /healthz and /readyz.',
  body_already_read: 'A body parser of your app read the body first. Mount the inbox router before it.',
}

/** How events differ from their documentation, with what to do. */
export const driftKinds: Reasons = {
  unknown_type: 'Only handlers of * get it. Write a handler, or update onchain-inbox.',
  new_field: 'Nothing breaks: unknown fields are passed on.',
  missing_field: 'Handlers that read it get undefined. Guard them, and ask the sender.',
  wrong_type: 'Handlers that compute with it may fail or compute something wrong. Check them first.',
  out_of_range: 'The value is outside its documented range. Check what your handlers assume.',
}

/** `not_json` becomes `Not json`. */
export function wordsOf(code: string): string {
  const words = shortText(code, 40).replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export function reasonOf(reasons: Reasons, code: string): { readonly title: string; readonly text: string } {
  const text = Object.hasOwn(reasons, code) ? reasons[code] : undefined
  return { title: wordsOf(code), text: text ?? 'This console doesn’t know the code. See docs/errors.md.' }
}

/** Values of a filter by reason. */
export function choicesOf(reasons: Reasons) {
  return Object.keys(reasons).map((value) => ({ value, label: wordsOf(value) }))
}
