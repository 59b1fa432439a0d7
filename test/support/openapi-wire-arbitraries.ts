import fc from 'fast-check'
import { authorization, jsonRequest } from './openapi-fuzz-stage.ts'
import { requestBytes } from './raw-http.ts'

// What may come over a wire: headers, targets, methods, and bytes that are no request at all.

/** One of the texts between the bars. */
const oneOf = (texts: string) => fc.constantFrom(...texts.split('|'))

const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/)
/** What may stand in a header. */
const headerText = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 60 })
  .filter((text) => !text.includes('\u007f') && text.trim() === text)

export const authorizations = fc.oneof(
  { weight: 6, arbitrary: fc.constant(authorization) },
  oneOf('Bearer|Bearer |bearer|Basic YTpi|Bearer a b|Digest x=y|'),
  oneOf(`${authorization} |${authorization}x|${authorization},|x ${authorization}|${authorization.toUpperCase()}`),
  oneOf(`${authorization.slice(0, -1)}|${authorization.replace(' ', '')}|${authorization.replace(' ', '  ')}`),
  headerText,
  headerText.map((text) => `Bearer ${text}`),
)

export const mediaTypes = fc.oneof(
  oneOf('application/json|APPLICATION/JSON'),
  oneOf('text/json|application/ld+json|application/*|*/*||text/plain|application/jsonx|application/ json'),
  oneOf('multipart/form-data; boundary=x|application/x-www-form-urlencoded|application/json, text/plain'),
  fc.tuple(token, token).map(([type, subtype]) => `${type}/${subtype}`),
  headerText,
)
export const mediaTypeParameters = fc.oneof(
  oneOf('||; charset=utf-8|;charset="UTF-8"|; charset=utf-16|; charset=latin1|;|; q=1|; charset='),
  headerText.map((text) => `;${text}`),
)
export const encodings = fc.constantFrom(null, null, null, 'identity', 'gzip', 'br', 'deflate, gzip', 'x', '')

const segments = fc.oneof(
  { weight: 3, arbitrary: oneOf('v1|wallets|tokens|search|alerts|networks|webhooks|contracts|trending') },
  oneOf('liquidity|portfolio|pnl|trades|V1|v2|v1.|Wallets|wallets%20|wallets;x|_emulator|__proto__|constructor'),
  oneOf('||.|..|%2e%2e|%2f|%00|%zz|%ff|~|*|:address|{address}|\u00ff|%F0%9F%92%A5|a?b|a#b|a?network=base'),
  fc.constantFrom(`0x${'a'.repeat(40)}`, 'x'.repeat(3_000)),
)
const starts = oneOf('/v1/|/v1/|/||//|http://127.0.0.1/v1/|http://evil.example/v1/|https://a:b@x/|http:///v1/')
/** Whatever is not for the control routes. */
export const targets = fc
  .oneof(
    {
      weight: 5,
      arbitrary: fc.tuple(starts, fc.array(segments, { maxLength: 5 })).map(([a, b]) => `${a}${b.join('/')}`),
    },
    oneOf('/v1/networks|/v1/networks?|/v1/contracts/x|/v1/liquidity/x/y|/v1/trending?x'),
    oneOf('*|/|/?|?|/v1?|/v1/networks/?|/v1/networks#x|/v1/networks/.|/v1/./networks|/v1//networks|/v1/networks;a=b'),
  )
  .filter((target) => target !== '' && !/^\/_emulator(?:[/?]|$)/.test(target))

export const methods = fc.oneof(
  { weight: 3, arbitrary: oneOf('GET|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|QUERY') },
  oneOf('PROPFIND|MKCOL|LOCK|SEARCH|PURGE|M-SEARCH|BREW|get|G|PRI|'),
)

const lines = fc.oneof(
  oneOf('\r\n|\r|\n|\0|: | |\t|\r\n\r\n|\r\nHost: b|\r\nContent-Length: 5|\r\nContent-Length: -1'),
  oneOf('\r\nTransfer-Encoding: chunked|\r\nTransfer-Encoding: gzip|\r\nExpect: 100-continue|\r\nExpect: x'),
  oneOf('\r\nConnection: upgrade\r\nUpgrade: websocket|\r\nConnection: close|\r\n folded|\r\n\r\n0\r\n\r\n| HTTP/2.0'),
  fc.nat(3_000).map((count) => '\r\nX: y'.repeat(count)),
  fc.nat(20_000).map((size) => 'x'.repeat(size)),
)
const noise = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  lines.map((text) => Buffer.from(text)),
)
const whole = requestBytes({ method: 'GET', target: '/v1/networks', headers: { Authorization: authorization } })
const withoutHost = Buffer.from(whole.toString().replace(/Host: .*\r\n/, ''))
const old = Buffer.from(withoutHost.toString().replace('HTTP/1.1', 'HTTP/1.0'))
const requests = fc.constantFrom(
  whole,
  withoutHost,
  old,
  jsonRequest('/v1/alerts', Buffer.from('{"type":"price_above"}')),
)

/** Requests, some of them damaged or cut or one after the other, and bytes that never were one. */
export const wireBytes = fc.oneof(
  noise,
  fc.tuple(requests, fc.nat(400), fc.nat(20), noise).map(([bytes, at, gone, inserted]) => {
    const place = Math.min(at, bytes.length)
    return Buffer.concat([bytes.subarray(0, place), inserted, bytes.subarray(place + gone)])
  }),
  fc.tuple(requests, fc.nat(400)).map(([bytes, length]) => bytes.subarray(0, length)),
  fc.array(requests, { minLength: 2, maxLength: 4 }).map((all) => Buffer.concat(all)),
)
