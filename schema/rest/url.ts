import { z } from 'zod'
import { assumed } from '../fields.ts'

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = `${octet}(?:\\.${octet}){3}`
const name = '(?:[\\w-]+\\.)*[A-Za-z][\\w-]*'
const host = `(?:${name}|${ipv4}|\\[[\\da-fA-F:.]+\\])`
const loopback = `(?:${inAnyCase('localhost')}|127(?:\\.${octet}){3}|\\[::1\\])`
const port = '(?::(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5]))?'
const letter = "(?:[\\w.~!$&'()*+,;=:@/-]|%[\\da-fA-F]{2})"
const pathAndQuery = `(?:/${letter}*)?(?:\\?(?:${letter}|\\?)*)?`

const endpointPattern = new RegExp(
  `^(?:${inAnyCase('https')}://${host}|${inAnyCase('http')}://${loopback})${port}${pathAndQuery}$`,
)
const problem =
  'expected an https URL, or for tests an http URL of this machine (localhost, 127.0.0.1, [::1]), of at most 2048 ' +
  'characters, without credentials and without a fragment; characters that a URL cannot contain as %xx'

/** URL that gets POSTs: https, or http to this machine (R35, A25). Scheme and host in any case; kept unchanged. */
export const endpointUrl = assumed(
  z
    .string({ error: problem })
    .max(2048, { error: problem, abort: true })
    .regex(endpointPattern, { error: problem, abort: true })
    .refine((url) => URL.canParse(url), problem),
  'A25',
)

/** Pattern of a word in any case: patterns in JSON Schema have no flags. */
function inAnyCase(word: string): string {
  return Array.from(word, (letter) => `[${letter}${letter.toUpperCase()}]`).join('')
}
