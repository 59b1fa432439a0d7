export interface Reason {
  readonly title: string
  /** What happened, and what to do. */
  readonly text: string
}

const resend = 'Once the sender is fixed, ask it to send these events again.'
const unknownSource = 'From an unknown address it is an attempt of a stranger: nothing was stored.'
const exactBytes = 'The sender must sign exactly the bytes that it sends, and nothing between may rewrite them.'

/** Why a signed body is not a usable event: the codes of src/receiver/envelope.ts. */
export const quarantineReasons: Readonly<Record<string, Reason>> = {
  not_utf8: {
    title: 'Not UTF-8',
    text: `The bytes are compressed, cut or in another encoding. They begin with 1f 8b for gzip, ff fe for UTF-16. ${resend}`,
  },
  byte_order_mark: {
    title: 'Byte-order mark',
    text: `A byte-order mark (ef bb bf) precedes the JSON, which JSON forbids. ${resend}`,
  },
  not_json: { title: 'Not JSON', text: `The text is empty, cut or in another format. ${resend}` },
  too_deep: {
    title: 'Nested too deeply',
    text: 'The JSON has more than 64 levels. No documented event has. Rotate the secret if the sender knows nothing of it.',
  },
  not_an_envelope: {
    title: 'Not an envelope',
    text: 'type, created_at or data is missing or has another type. If the format is new, update onchain-inbox, then retry.',
  },
  own_type: {
    title: 'Reserved type',
    text: 'Types that begin with inbox. are notifications of the inbox itself. Find out who signs with your secret.',
  },
  bad_id: {
    title: 'Unusable id',
    text: `The id is missing, empty, longer than 255 characters, or not well-formed Unicode. ${resend}`,
  },
}

/** Why a request was rejected: codes of docs/errors.md. */
export const rejectReasons: Readonly<Record<string, Reason>> = {
  signature_missing: {
    title: 'No signature',
    text: `Check that the sender signs, and that no proxy drops the header INBOX_SIGNATURE_HEADER. ${unknownSource}`,
  },
  signature_malformed: {
    title: 'Malformed signature',
    text: `The header is not one digest of 64 hex digits. Common: a prefix, base64, or a repeated header. ${unknownSource}`,
  },
  signature_mismatch: {
    title: 'Wrong signature',
    text: `No configured secret gives this signature. Common: another secret, or a body changed on the way. ${unknownSource}`,
  },
  body_too_large: {
    title: 'Body too large',
    text: 'The body exceeds INBOX_BODY_LIMIT. If the sender means it, raise the limit: it retries by itself.',
  },
  content_encoding_unsupported: {
    title: 'Compressed',
    text: 'A compressed body differs from the signed bytes. Turn compression off.',
  },
  bad_request: {
    title: 'Malformed HTTP',
    text: `Contradicting lengths, two Host headers or broken chunks, often from a proxy. ${unknownSource}`,
  },
  body_incomplete: {
    title: 'Incomplete body',
    text: `The connection ended, or the time limit passed, before the whole body arrived. ${unknownSource}`,
  },
  not_found: {
    title: 'Wrong path',
    text: 'Only INBOX_PATH takes deliveries. Correct the URL at the sender. Scanners try many paths.',
  },
  method_not_allowed: { title: 'Wrong method', text: 'Only POST is allowed. Health checks use /healthz and /readyz.' },
  body_already_read: {
    title: 'Body read before',
    text: 'A body parser of your app came first. Mount the inbox router before it.',
  },
}

/** What the signature explainer found: codes of src/signature/explain.ts. */
export const verdicts: Readonly<Record<string, Reason>> = {
  valid: { title: 'Valid now', text: 'The secret was added after the request. The sender retries by itself.' },
  missing: { title: 'No signature', text: 'Have the sender sign, or the proxy pass the header on.' },
  repeated: { title: 'Repeated header', text: 'Let one place alone set the header: the sender or a proxy.' },
  malformed: { title: 'Unknown form', text: 'The sender must write the digest as 64 hex digits.' },
  wrong_secret: {
    title: 'Another secret, or other bytes',
    text: 'Compare the secret with the sender’s; after a rotation, add the new one. If they agree, the body was changed on the way.',
  },
  surrounded: { title: 'Extra characters', text: 'The header must hold the 64 hex digits alone.' },
  prefix: { title: 'Prefix', text: 'The sender must leave out the prefix, such as sha256=.' },
  base64: { title: 'Base64 instead of hex', text: 'The sender must write the digest as hex.' },
  body_newline: { title: 'Changed line breaks', text: exactBytes },
  body_bom: { title: 'Byte-order mark', text: exactBytes },
  body_json: {
    title: 'Rewritten JSON',
    text: `A proxy or framework parsed the body and wrote it again. ${exactBytes}`,
  },
  body_empty: { title: 'Empty body signed', text: `The sender signed before the body was there. ${exactBytes}` },
  secret_whitespace: {
    title: 'White space in the secret',
    text: 'One copy of the secret has a space or line break at an end. Set both again.',
  },
  secret_label: { title: 'Label in the secret', text: 'Give the sender the secret without its label.' },
  secret_encoding: {
    title: 'Decoded secret',
    text: 'Use the secret as text. Neither side may decode it from base64 or hex.',
  },
  secret_empty: { title: 'Empty secret at the sender', text: 'Its setting is missing or misspelt. Set it there.' },
  other_hash: { title: 'Another hash', text: 'The sender must use SHA-256.' },
  not_hmac: { title: 'Hash without HMAC', text: 'The sender must use HMAC-SHA256, not a hash of secret and body.' },
}

/** How events differ from their documentation, with what to do. */
export const driftKinds: Readonly<Record<string, Reason>> = {
  unknown_type: { title: 'Unknown type', text: 'Only handlers of * get it. Write a handler, or update onchain-inbox.' },
  new_field: { title: 'New field', text: 'Nothing breaks: unknown fields are passed on.' },
  missing_field: {
    title: 'Missing field',
    text: 'Handlers that read it get undefined. Guard them, and ask the sender.',
  },
  wrong_type: {
    title: 'Wrong type',
    text: 'Handlers that compute with it may fail or compute something wrong. Check them first.',
  },
  out_of_range: {
    title: 'Out of range',
    text: 'The value is outside its documented range. Check what your handlers assume.',
  },
}

export function reasonOf(reasons: Readonly<Record<string, Reason>>, code: string): Reason {
  const known = Object.hasOwn(reasons, code) ? reasons[code] : undefined
  return known ?? { title: 'Other', text: 'This console doesn’t know the code. See docs/errors.md.' }
}

/** Values of a filter by reason. */
export function choicesOf(
  reasons: Readonly<Record<string, Reason>>,
): readonly { readonly value: string; readonly label: string }[] {
  return Object.entries(reasons).map(([value, { title }]) => ({ value, label: title }))
}
