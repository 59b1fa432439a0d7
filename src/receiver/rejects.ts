import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import type { Secret } from '../signature/keys.ts'
import { answerFor, isAnswerCode } from './answer.ts'
import { safeText, type Logger } from '../base/log.ts'
import { isIP, BlockList } from 'node:net'
import { explain } from '../signature/explain.ts'
import { readHeader } from '../signature/header-forms.ts'

/** Requests that were refused for one reason and came from one source. Times are milliseconds since 1970. */
export interface RejectGroup {
  /** The same for ever for this reason and source. */
  readonly id: string
  readonly reason: string
  readonly source: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** Of the newest of them, safe to show. */
  readonly method: string
  /** That of the webhook, or `other` and the length of the path. */
  readonly path: string
  /** Of its body; null: it was not read. */
  readonly sizeBytes: number | null
  /** Whether it is kept with its signature, for `explain`. */
  readonly isExplainable: boolean
}

/** Requests that were refused for good, in memory. Neither a signature nor a secret ever comes out. */
export interface Rejects {
  /** `raw`: the exact bytes of the body, where they were read. Answers that ask to be tried again are not counted. */
  add(request: RefusedRequest, reason: string, raw?: Uint8Array): void
  /** Those that something came of last first; `droppedGroups` had to make room for them. */
  list(): { readonly groups: readonly RejectGroup[]; readonly droppedGroups: number }
  /** What the signature explainer finds in the newest of a group, by its id; null: there is none, or it is not kept. */
  explain(id: string): RejectExplanation | null
  /** How many requests, since the start. */
  count(): number
}

export interface RejectsOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly secrets: () => readonly Secret[]
  /** Of the webhook. */
  readonly path: string
  /** Lower case. */
  readonly signatureHeader: string
  /** Lower case; no others are shown. */
  readonly storedHeaders: readonly string[]
  readonly trustedProxies: readonly string[]
}

/** How many groups, and how many bytes of bodies in one and in all, are kept. */
export const kept = { groups: 200, bodyBytes: 64 * 1024, bytes: 4 * 1024 * 1024 } as const

interface Group {
  readonly key: string
  readonly reason: string
  readonly source: string
  readonly firstAt: number
  count: number
  lastAt: number
  newest: RefusedRequest['headers']
  method: string
  path: string
  sizeBytes: number | null
}

/**
 * A flood of bad requests costs a map look-up and references each: nothing is hashed, parsed, rendered or explained before
 * somebody looks. A body is kept as it is; only one that lies in a larger piece of memory is copied, so that it does not keep all of
 * that. Both maps are in the order of the newest, so that what makes room is found without a search.
 */
export function createRejects(options: RejectsOptions): Rejects {
  const { clock, secrets, signatureHeader, storedHeaders, trustedProxies } = options
  const sourceOf = createSourceOf(trustedProxies)
  const groups = new Map<string, Group>()
  const bodies = new Map<string, Uint8Array>()
  let bodyBytes = 0
  let count = 0
  let droppedGroups = 0

  function forgetBody(key: string): void {
    bodyBytes -= bodies.get(key)?.length ?? 0
    bodies.delete(key)
  }

  function keepBody(key: string, raw: Uint8Array | undefined): void {
    forgetBody(key)
    if (raw === undefined || raw.length > kept.bodyBytes) return
    bodies.set(key, raw.byteLength === raw.buffer.byteLength ? raw : new Uint8Array(raw))
    bodyBytes += raw.length
    while (bodyBytes > kept.bytes) forgetBody(bodies.keys().next().value ?? '')
  }

  function makeRoom(): void {
    const [oldest = ''] = groups.keys()
    groups.delete(oldest)
    forgetBody(oldest)
    droppedGroups++
  }

  const headerOf = ({ newest }: Group) => {
    const value = newest[signatureHeader]
    return Array.isArray(value) ? value.join(', ') : value
  }

  function toGroup(group: Group): RejectGroup {
    const redact = redactorOf(headerOf(group), secrets())
    const { key, reason, source, firstAt, lastAt, method, path, sizeBytes } = group
    return {
      id: idOf(key),
      reason,
      source: redact(source),
      count: group.count,
      firstAt,
      lastAt,
      method: safeText(redact(method), 20),
      path,
      sizeBytes,
      isExplainable: isSigned(reason) && bodies.has(key),
    }
  }

  return {
    add(request, reason, raw) {
      if (!isForGood(reason)) return
      count++
      const source = sourceOf(request)
      const key = `${reason} ${source}`
      const now = clock.now()
      const { method = '' } = request
      const path = describePath(request, options.path)
      const known = groups.get(key)
      const group = known ?? {
        key,
        reason,
        source,
        firstAt: now,
        count: 0,
        lastAt: now,
        newest: {},
        method,
        path,
        sizeBytes: null,
      }
      if (known !== undefined) groups.delete(key)
      else if (groups.size >= kept.groups) makeRoom()
      groups.set(key, group)
      group.count++
      group.lastAt = now
      group.newest = request.headers
      group.method = method
      group.path = path
      group.sizeBytes = raw?.length ?? null
      keepBody(key, raw)
    },
    list: () => ({ groups: [...groups.values()].toReversed().map(toGroup), droppedGroups }),
    explain(id) {
      const group = [...groups.values()].find(({ key }) => idOf(key) === id)
      const raw = group && bodies.get(group.key)
      if (group === undefined || raw === undefined || !isSigned(group.reason)) return null
      return explainSample({ raw, headers: group.newest, signature: headerOf(group), storedHeaders }, secrets())
    },
    count: () => count,
  }
}

function isForGood(reason: string): boolean {
  return !isAnswerCode(reason) || answerFor(reason).status < 500
}

function isSigned(reason: string): boolean {
  return reason.startsWith('signature_')
}

function idOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}

export interface RejectLogOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Addresses or CIDR ranges whose X-Forwarded-For names the client's address. */
  readonly trustedProxies: readonly string[]
  /** The path of the webhook; without it no path is logged. */
  readonly path?: string
  /** Keeps rejected requests for the console. */
  readonly rejects?: Pick<Rejects, 'add'>
}

/** The parts of a request that are logged. */
export interface RefusedRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Logs a rejected request with its source and a reason code, never its body or signature. `raw`: its body, where it was read. */
export type RejectLog = (request: RefusedRequest, reason: string, raw?: Uint8Array) => void

export function createRejectLog(options: RejectLogOptions): RejectLog {
  const { log, rejects } = options
  const limit = createLogLimit(options.clock)
  const sourceOf = createSourceOf(options.trustedProxies)

  return (request, reason, raw) => {
    rejects?.add(request, reason, raw)
    const line = limit()
    if (line === null) return
    const { method } = request
    const path = options.path === undefined ? {} : { path: describePath(request, options.path) }
    log.warn({ source: sourceOf(request), method, ...path, reason, ...line }, 'a request was refused')
  }
}

/** The path of the webhook. Any other path may hold a secret, so only its length is shown. */
function describePath({ url = '' }: RefusedRequest, path: string): string {
  const [sent = ''] = url.split('?', 1)
  return sent === path ? path : `other (${sent.length} characters)`
}

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
function explainSample(
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
function redactorOf(signature: string | undefined, secrets: readonly Secret[]): (text: string) => string {
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

/** What of a request says where it came from. */
export interface Sourced {
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/**
 * Names the source of requests: the peer, or, behind trusted proxies, the nearest address in X-Forwarded-For that is none of them.
 * `trustedProxies`: addresses or CIDR ranges.
 */
function createSourceOf(trustedProxies: readonly string[]): (request: Sourced) => string {
  const isTrusted = createTrust(trustedProxies)
  return ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? 'unknown'
    const forwarded = headers['x-forwarded-for']
    if (forwarded === undefined || !isTrusted(peer)) return peer
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',').map((hop) => hop.trim())
    return safeText(hops.findLast((hop) => !isTrusted(hop)) ?? peer, 64)
  }
}

function createTrust(proxies: readonly string[]): (address: string) => boolean {
  if (proxies.length === 0) return () => false
  const list = new BlockList()
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}
