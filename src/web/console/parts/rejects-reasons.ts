import type { ReasonWords } from './quarantine-reasons.ts'

const stranger = 'If you do not know the source, it is somebody who tries: nothing of it was stored.'

/** Why a request was refused: codes of docs/errors.md, and what is said of signatures. */
const rejectReasons: Readonly<Record<string, ReasonWords>> = {
  signature_missing: {
    title: 'No signature',
    means: 'The request has no signature header, or an empty one.',
    todo: `If it is your sender, see that it signs and that no proxy drops the header (INBOX_SIGNATURE_HEADER names it). ${stranger}`,
  },
  signature_malformed: {
    title: 'Signature of another form',
    means: 'The signature header is not one digest of 64 hex digits.',
    todo: `Let it be explained: a prefix, base64 or a header that came twice are usual. ${stranger}`,
  },
  signature_mismatch: {
    title: 'Wrong signature',
    means: 'No configured secret gives this signature for these bytes.',
    todo: `Let it be explained: another secret, or a body that was changed on the way, are usual. ${stranger}`,
  },
  body_too_large: {
    title: 'Body too large',
    means: 'The body is larger than INBOX_BODY_LIMIT; it was not read.',
    todo: 'If the sender really sends such bodies, raise the limit; the sender tries again by itself.',
  },
  content_encoding_unsupported: {
    title: 'Compressed',
    means: 'The body is compressed (Content-Encoding), so that its bytes are not those that were signed.',
    todo: 'Have the sender, or the proxy before this program, send bodies as they were signed.',
  },
  bad_request: {
    title: 'No proper HTTP',
    means: 'The request is not well formed: lengths that contradict each other, two Host headers, broken chunks.',
    todo: `A proxy that rewrites requests badly does this. ${stranger}`,
  },
  body_incomplete: {
    title: 'Body never complete',
    means: 'The connection was broken off, or the time for a request was over, before all of the body was there.',
    todo: `If it is your sender, look at the network, and at the limits of time and size of the proxy before this program. ${stranger}`,
  },
  not_found: {
    title: 'Another path',
    means: 'There is nothing at this path; it is compared letter for letter with INBOX_PATH.',
    todo: 'If it is your sender, correct the URL that is registered with it. Scanners of the internet ask for many paths.',
  },
  method_not_allowed: {
    title: 'Another method',
    means: 'The path takes POST only.',
    todo: 'A browser or a health check asks by GET: /healthz and /readyz are for the latter.',
  },
  body_already_read: {
    title: 'Body read before',
    means: 'A body parser of your app read the body before its signature could be checked.',
    todo: 'Mount the router of the inbox before the parser.',
  },
}

/** What a reason means; of one that is not known, that it is not. */
export function rejectReason(code: string): ReasonWords {
  return Object.hasOwn(rejectReasons, code) && rejectReasons[code] !== undefined
    ? rejectReasons[code]
    : {
        title: 'Another reason',
        means: 'This page does not know the reason; docs/errors.md may.',
        todo: 'Look at the log lines “a request was refused” of that time.',
      }
}

const rawBytes = 'What signs has to sign the very bytes that are sent, and nothing on the way may rewrite them.'

/** What to do about what the signature explainer found: its codes (src/signature/explain.ts). */
export const verdictSteps: Readonly<Record<string, { readonly title: string; readonly todo: string }>> = {
  valid: {
    title: 'It is right by now',
    todo: 'The secret was not there when the request came, and it is now. The sender tries again by itself; else replay it there.',
  },
  missing: { title: 'There is no signature', todo: 'Have the sender sign, or the proxy pass the header on.' },
  repeated: { title: 'It came more than once', todo: 'Have one place alone set the header: the sender or a proxy.' },
  malformed: {
    title: 'It is of no known form',
    todo: 'Have the sender write the digest as 64 hex digits and nothing else.',
  },
  wrong_secret: {
    title: 'Another secret, or other bytes',
    todo: 'Compare the secret here (Settings names those in use) with that of the sender: after a rotation, add the new one. If they agree, the body was changed on the way.',
  },
  surrounded: { title: 'Something stands around it', todo: 'Have the sender send the 64 hex digits alone.' },
  prefix: { title: 'A prefix stands before it', todo: 'Have the sender leave the prefix out, as in sha256=….' },
  base64: { title: 'It is base64 instead of hex', todo: 'Have the sender write the digest as hex.' },
  body_newline: {
    title: 'Line breaks were changed',
    todo: `${rawBytes} An editor, a shell or a proxy adds or drops line breaks.`,
  },
  body_bom: { title: 'A byte-order mark was added or dropped', todo: rawBytes },
  body_json: {
    title: 'The JSON was written anew',
    todo: `${rawBytes} A proxy or framework that parses bodies and writes them again does this: let it pass the raw body on.`,
  },
  body_empty: { title: 'An empty body was signed', todo: `${rawBytes} The sender signs before the body is there.` },
  secret_whitespace: {
    title: 'White space in the secret',
    todo: 'One of the two copies of the secret has a space or line break at an end: set both anew.',
  },
  secret_label: {
    title: 'The label was taken for a part of the secret',
    todo: 'Give the sender the secret without its label.',
  },
  secret_encoding: {
    title: 'The secret was decoded',
    todo: 'Use the secret as it is written, as text: neither side may decode it as base64 or hex.',
  },
  secret_empty: {
    title: 'The secret of the sender is empty',
    todo: 'Its setting is missing or misspelt there: set it.',
  },
  other_hash: { title: 'Another hash', todo: 'Have the sender use SHA-256.' },
  not_hmac: {
    title: 'A hash, but no HMAC',
    todo: 'Have the sender use HMAC-SHA256, not a hash of secret and body together.',
  },
}
