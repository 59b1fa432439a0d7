import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { safeText } from '../base/log.ts'
import { explain } from '../signature/explain.ts'
import { readHeader } from '../signature/header-forms.ts'
import type { Secret } from '../signature/keys.ts'

/** What is wrong with the signature of a refused request, and what of it may be shown. No field holds a secret or a signature. */
export interface RejectExplanation {
  readonly code: string
  readonly matchedLabel: string | null
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** The begin of the body as text. */
  readonly preview: string
}

export interface RefusedSample {
  readonly raw: Uint8Array
  readonly headers: IncomingHttpHeaders
  readonly signature: string | undefined
  /** Names in lower case of the headers that may be shown. */
  readonly storedHeaders: readonly string[]
}

const longest = { value: 200, preview: 199 }

/** Explains a sample with the secrets that are valid now; costs dozens of digests. Never throws. */
export function explainSample(
  { raw, headers, signature, storedHeaders }: RefusedSample,
  secrets: readonly Secret[],
): RejectExplanation {
  const { code, matchedLabel = null, message } = explain(raw, signature, secrets)
  const redact = redactorOf(signature, secrets)
  const show = (text: string, most: number) => safeText(redact(text), most)
  const shown = storedHeaders.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, show([value].flat().join(', '), longest.value)]]
  })
  const body = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString()
  return {
    code,
    matchedLabel,
    message,
    headers: Object.fromEntries(shown) as Record<string, string>,
    preview: show(body, longest.preview),
  }
}

/** What is shorter is no signature: to take it out of every text would leave nothing. */
const shortest = 16
/** What is longer is none either: to look for all that may be in it would take seconds, and a flood of them hours. */
const longestSignature = 2_000

/**
 * Takes out of texts what must not be shown: the signature that came, in whatever form, and every secret. A sender may have put
 * them anywhere: into another header, the path, the body. What came with a
 * signature that is far too long is not shown, but for an address.
 */
export function redactorOf(signature: string | undefined, secrets: readonly Secret[]): (text: string) => string {
  if (signature !== undefined && signature.length > longestSignature)
    return (text) => (text.length < shortest || isIP(text) !== 0 ? text : '[not shown]')
  const given = signature?.split(/[\s,;"'=]+/) ?? []
  const bytes = [
    ...(signature === undefined ? [] : readHeader(signature).map(({ digest }) => digest)),
    ...secrets.map(({ key }) => key.export()),
  ]
  const forms = bytes.flatMap((one) =>
    (['utf8', 'hex', 'base64', 'base64url'] as const).map((encoding) => one.toString(encoding).replace(/=+$/, '')),
  )
  const hidden = [...new Set([signature ?? '', ...given, ...forms])]
    .filter((text) => text.length >= shortest)
    .toSorted((a, b) => b.length - a.length)
  if (hidden.length === 0) return (text) => text
  const pattern = new RegExp(hidden.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'gi')
  return (text) => text.replace(pattern, '[removed]')
}
