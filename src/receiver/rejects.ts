import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP, BlockList } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'
import { explain } from '../signature/explain.ts'
import { readHeader } from '../signature/header-forms.ts'
import type { Secret } from '../signature/keys.ts'
import { answerFor, isAnswerCode } from './answer.ts'

/** The parts of a rejected request that are used here. */
export interface RejectedRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket: { readonly remoteAddress?: string | undefined }
}

export interface RejectsOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly secrets: () => readonly Secret[]
  /** Paths of all sources. */
  readonly paths: readonly string[]
  /** Lower case. */
  readonly signatureHeader: string
  /** Names in lower case. Other headers are never shown. */
  readonly storedHeaders: readonly string[]
  readonly trustedProxies: readonly string[]
}

/** Maximum groups, bytes of one stored body, and bytes of all stored bodies. */
export const rejectLimits = { groups: 200, bodyBytes: 64 * 1024, bytes: 4 * 1024 * 1024 } as const
/** Characters shown of a header or body. */
const maxValueLength = 200

/** Rejected requests with the same reason, path and client address. Times are milliseconds since 1970. */
interface Group {
  readonly key: string
  readonly reason: string
  /** Client address. */
  readonly client: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** Method of the newest request. */
  readonly method: string
  /** Path of a source, or `other` with the length of the path. */
  readonly path: string
  /** Size of the newest body; null: not read. */
  readonly sizeBytes: number | null
  readonly headers: IncomingHttpHeaders
  body: Uint8Array | null
}

export type Rejects = ReturnType<typeof createRejects>

/**
 * Keeps permanently rejected requests in memory. Never returns a signature or a secret. During a flood each request
 * costs only a few references: hashing and explaining wait until an operator reads them.
 */
export function createRejects(options: RejectsOptions) {
  const { clock, secrets, signatureHeader, storedHeaders } = options
  const clientOf = createClientAddressOf(options.trustedProxies)
  /** Oldest first. */
  const groups = new Map<string, Group>()
  let bodyBytes = 0
  let count = 0

  function forgetBody(group: Group): void {
    bodyBytes -= group.body?.length ?? 0
    group.body = null
  }

  function drop(key: string, group: Group): void {
    forgetBody(group)
    groups.delete(key)
  }

  const signatureOf = ({ headers }: Group) => toText(headers[signatureHeader])

  function toGroup(group: Group) {
    const redact = createRedactor(signatureOf(group), secrets())
    const { headers: _, body, key, ...shown } = group
    return {
      ...shown,
      /** Depends only on the reason, the source's path and the address. */
      id: idOf(key),
      client: redact(group.client),
      method: safeText(redact(group.method), 20),
      /** True if `explain` can explain the newest request. */
      isExplainable: isSigned(group) && body !== null,
    }
  }

  return {
    /** Ignores temporary rejections, which the sender retries. `raw`: the exact body, if it was read. */
    add(request: RejectedRequest, reason: string, raw?: Uint8Array): void {
      if (!isPermanent(reason)) return
      count++
      const client = clientOf(request)
      const key = `${reason} ${client} ${isOfSource(request, options.paths) ? pathOf(request) : ''}`
      const now = clock.now()
      const known = groups.get(key)
      if (known !== undefined) drop(key, known)
      else if (groups.size >= rejectLimits.groups) {
        const [oldest] = groups
        if (oldest !== undefined) drop(...oldest)
      }
      groups.set(key, {
        reason,
        client,
        count: (known?.count ?? 0) + 1,
        firstAt: known?.firstAt ?? now,
        lastAt: now,
        key,
        method: request.method ?? '',
        path: describePath(request, options.paths),
        sizeBytes: raw?.length ?? null,
        headers: request.headers,
        body: raw !== undefined && raw.length <= rejectLimits.bodyBytes ? withoutPool(raw) : null,
      })
      bodyBytes += groups.get(key)?.body?.length ?? 0
      for (const group of groups.values()) {
        if (bodyBytes <= rejectLimits.bytes) break
        forgetBody(group)
      }
    },
    /** Groups, latest first. */
    list: () => [...groups.values()].toReversed().map(toGroup),
    /**
     * Explains the signature of the newest request of a group; null for an unknown group, or if its body was not kept.
     * No field contains a secret or a signature. `matchedLabel`: the secret that made the signature; null: none did.
     */
    explain(id: string) {
      const group = groups.values().find(({ key }) => idOf(key) === id)
      if (group === undefined || group.body === null || !isSigned(group)) return null
      const { headers, body } = group
      const signature = signatureOf(group)
      const redact = createRedactor(signature, secrets())
      const { code, matchedLabel = null, message } = explain(body, signature, secrets())
      const shown = storedHeaders.flatMap((name) => {
        const value = toText(headers[name])
        return value === undefined ? [] : [[name, safeText(redact(value), maxValueLength)] as const]
      })
      const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
      const preview = safeText(redact(text), maxValueLength - 1)
      return { code, matchedLabel, message, headers: Object.fromEntries(shown), preview }
    },
    /** Number of requests since the start. */
    count: () => count,
  }
}

/** Copies bytes that are part of a larger buffer, which would stay in memory otherwise. */
function withoutPool(raw: Uint8Array): Uint8Array {
  return raw.byteLength === raw.buffer.byteLength ? raw : new Uint8Array(raw)
}

function isPermanent(reason: string): boolean {
  return !isAnswerCode(reason) || answerFor(reason).status < 500
}

const isSigned = ({ reason }: Group): boolean => reason.startsWith('signature_')

function idOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}

/** Repeated headers are joined, as Node does. */
export function toText(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'object' ? header.join(', ') : header
}

export interface RejectLogOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Addresses or CIDR ranges of proxies whose X-Forwarded-For is used. */
  readonly trustedProxies: readonly string[]
  /** Paths of all sources; undefined: no paths are logged. */
  readonly paths?: readonly string[]
  /** Keeps rejected requests for the console. */
  readonly rejects?: Pick<Rejects, 'add'>
}

/** Logs a rejected request with its address and reason, never its body or signature. `raw`: its body, if it was read. */
export type RejectLog = (request: RejectedRequest, reason: string, raw?: Uint8Array) => void

export function createRejectLog(options: RejectLogOptions): RejectLog {
  const { log, rejects } = options
  const limit = createLogLimit(options.clock)
  const clientOf = createClientAddressOf(options.trustedProxies)

  return (request, reason, raw) => {
    rejects?.add(request, reason, raw)
    const line = limit()
    if (line === null) return
    const path = options.paths === undefined ? {} : { path: describePath(request, options.paths) }
    log.warn({ client: clientOf(request), method: request.method, ...path, reason, ...line }, 'request rejected')
  }
}

/** Any other path may contain a secret, so only its length is shown. */
function describePath(request: RejectedRequest, paths: readonly string[]): string {
  return isOfSource(request, paths) ? pathOf(request) : `other (${pathOf(request).length} characters)`
}

const isOfSource = (request: RejectedRequest, paths: readonly string[]) => paths.includes(pathOf(request))

const pathOf = ({ url = '' }: RejectedRequest) => url.split('?', 1)[0] ?? ''

/** Shorter texts are not signatures. Replacing them everywhere would leave nothing. */
const minSignatureLength = 16
/** Longer headers are not signatures, and too slow to search for. */
const maxSignatureLength = 2_000

/**
 * Removes the received signature in any form, and every secret, from texts: a sender may have put them into other
 * headers, the path or the body. With an overlong signature nothing but addresses is shown.
 */
function createRedactor(signature: string | undefined, secrets: readonly Secret[]): (text: string) => string {
  if (signature !== undefined && signature.length > maxSignatureLength)
    return (text) => (text.length < minSignatureLength || isIP(text) !== 0 ? text : '[not shown]')
  const parts = signature?.split(/[\s,;"'=]+/) ?? []
  const bytes = [
    ...(signature === undefined ? [] : readHeader(signature).map(({ digest }) => digest)),
    ...secrets.map(({ key }) => key.export()),
  ]
  const forms = bytes.flatMap((value) =>
    (['utf8', 'hex', 'base64', 'base64url'] as const).map((encoding) => value.toString(encoding).replace(/=+$/, '')),
  )
  const hidden = [...new Set([signature ?? '', ...parts, ...forms])]
    .filter((text) => text.length >= minSignatureLength)
    .toSorted((a, b) => b.length - a.length)
  if (hidden.length === 0) return (text) => text
  const pattern = new RegExp(hidden.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'gi')
  return (text) => text.replace(pattern, '[removed]')
}

/** Returns the client address: the peer, or behind trusted proxies the nearest other address in X-Forwarded-For. */
function createClientAddressOf(trustedProxies: readonly string[]): (request: RejectedRequest) => string {
  const trusted = new BlockList()
  for (const proxy of trustedProxies) {
    const [address = '', bits] = proxy.split('/')
    if (bits === undefined) trusted.addAddress(address, familyOf(address))
    else trusted.addSubnet(address, Number(bits), familyOf(address))
  }
  const isTrusted = (address: string) => isIP(address) !== 0 && trusted.check(address, familyOf(address))
  return ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? 'unknown'
    const forwarded = toText(headers['x-forwarded-for'])
    if (trustedProxies.length === 0 || forwarded === undefined || !isTrusted(peer)) return peer
    const hops = forwarded.split(',').map((hop) => hop.trim())
    return safeText(hops.findLast((hop) => !isTrusted(hop)) ?? peer, 64)
  }
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
