import { createHash } from 'node:crypto'
import type { Transporter } from 'nodemailer'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { createConnection, requirePeers } from './common/connection.ts'
import { isLoopback, place, type SinkKind, type SinkSetup } from './common/kind.ts'
import { formatText, type Severity } from 'onchain-inbox/format'
import { toMessage, type Message } from './common/message.ts'

const address = z.string().regex(/^[^\s<>"(),:;@[\]\\]+@[^\s<>"(),:;@[\]\\]+$/, {
  error: 'expected an address such as desk@example.com',
})
/** An address, or a name followed by an address in angle brackets. */
const sender = z
  .string()
  .regex(/^(?:[^\r\n<>"\\]{1,100} <[^\s<>"(),:;@]+@[^\s<>"(),:;@]+>|[^\s<>"(),:;@]+@[^\s<>"(),:;@]+)$/, {
    error: 'expected an address such as inbox@example.com or Inbox <inbox@example.com>',
  })
const placeholders = ['title', 'type', 'network', 'severity', 'id']

const options = z.strictObject({
  url: z.string().refine(isSmtpUrl, {
    error: 'expected smtp://host:587 or smtps://host:465, with percent-encoded user and password if needed',
  }),
  from: sender,
  to: z.union([address.transform((one) => [one]), z.array(address).min(1).max(100)]),
  /** Template with `{title}`, `{type}`, `{network}`, `{severity}` and `{id}`. */
  subject: z
    .string()
    .min(1)
    .max(200)
    .refine((text) => [...text.matchAll(/\{([^{}]*)\}/g)].every(([, name = '']) => placeholders.includes(name)), {
      error: `known placeholders: ${placeholders.map((name) => `{${name}}`).join(', ')}`,
    })
    .default('[{severity}] {title}'),
  /** True: allows a remote server without TLS. */
  allowInsecure: z.boolean().default(false),
})

type Options = z.output<typeof options>

/**
 * Sends one mail per event, or a digest of up to 50 events in a burst. A remote server must offer TLS. If the server
 * permanently rejects a mail (5xx), its item becomes a dead letter; the items of a digest are retried. A retry of the
 * same items has the same Message-ID.
 */
export default {
  options,
  target: ({ url, to }) => `${place(url)} ${place(to)}`,
  example:
    "{ kind: 'email', url: 'smtps://user:password@smtp.example.com:465', from: 'inbox@example.com', to: 'desk@example.com' }",
  create,
  check: ({ name }) => requirePeers(name, ['nodemailer']),
} satisfies SinkKind<typeof options>

/** Timeout for connecting, and for the server's greeting. */
const connectMs = 10_000

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition<'*'>> {
  const transport = createConnection({ open: () => openTransport(options), close: (opened) => opened.close() })
  return {
    batch: 50,
    order: 'none',
    concurrency: 1,
    timeoutMs: 60_000,
    retry: { attempts: 100, baseMs: 5_000, capMs: 1_800_000 },
    breaker: {},
    async send(items, { signal, log }) {
      const sorted = items.toSorted((a, b) => Number(a.id) - Number(b.id))
      const { unusable, ...mail } = toMailText(sorted, options.subject)
      if (unusable.length > 0) log.error({ items: unusable }, 'enqueued payload invalid, notice sent')
      const opened = await transport.get()
      const { rejected } = await opened
        .sendMail({
          from: options.from,
          to: [...options.to],
          ...mail,
          messageId: messageId(sorted, options.from),
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal,
        })
        .catch((error: unknown) => rethrow(error, sorted.length > 1))
      if (rejected?.length) log.warn({ rejected: rejected.length }, 'mail server refused recipients')
    },
    close: () => transport.forget(),
  }
}

type MailTransport = Pick<Transporter, 'sendMail' | 'close'>

async function openTransport({ url, allowInsecure }: Options): Promise<MailTransport> {
  const { default: nodemailer } = await import('nodemailer')
  const { protocol, hostname, port, username, password } = new URL(url)
  const isSecure = protocol === 'smtps:'
  const mayBePlain = allowInsecure || isLoopback(hostname)
  return nodemailer.createTransport({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    secure: isSecure,
    requireTLS: !mayBePlain,
    tls: { rejectUnauthorized: !mayBePlain },
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** Message-ID that depends on the items only, so that mail servers recognize a retry. */
function messageId(items: readonly SinkItem[], from: string): string {
  const hash = createHash('sha256').update(JSON.stringify(items.map(({ idempotencyKey }) => idempotencyKey)))
  const [, domain = 'localhost'] = /@([^@>]+)>?$/.exec(from) ?? []
  return `<${hash.digest('hex').slice(0, 40)}@${domain}>`
}

/**
 * Throws a TerminalError if the server permanently rejected the mail, else the error itself. It doesn't say which item of
 * a digest was rejected: all items are retried, until the rejected one is sent alone.
 */
function rethrow(error: unknown, isDigest: boolean): never {
  if (!(error instanceof Error)) throw error
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  const isPermanent = typeof responseCode === 'number' && responseCode >= 500 && responseCode !== 503
  if (isOfMail && isPermanent && !isDigest)
    throw new TerminalError(`the mail server rejected the mail: ${error.message}`, { cause: error })
  throw error
}

function isSmtpUrl(value: string): boolean {
  const { protocol, hostname, pathname, search, hash, username, password } = URL.parse(value) ?? {}
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return false
  if (hostname === '' || pathname?.replace('/', '') !== '' || search !== '' || hash !== '') return false
  try {
    decodeURIComponent(`${username}:${password}`)
    return true
  } catch {
    return false
  }
}

export interface MailText {
  readonly subject: string
  readonly text: string
  /** Idempotency keys of the items with an invalid payload. The text has a notice for each. */
  readonly unusable: readonly string[]
}

type Placeholder = 'title' | 'type' | 'network' | 'severity' | 'id'
/** Values of the placeholders. */
type Words = Readonly<Record<Placeholder, string>>

/** The mail text of one item. */
interface Part {
  readonly words: Words
  /** Subject enqueued by a handler; undefined: use the template. */
  readonly subject: string | undefined
  readonly text: string
}

const expected = 'an email sink takes { text: string, subject?: string } from handlers'
const severities: readonly Severity[] = ['info', 'warning', 'critical']
/** Maximum characters of a subject, and of other values on one line. */
const maxSubjectLength = 200

/** Subject and text of a mail about these items. Throws a TerminalError if all payloads are invalid. */
export function toMailText(items: readonly SinkItem[], subjectTemplate: string): MailText {
  const parts = items.map(toPart)
  const unusable = items.filter(isUnusable).map(({ idempotencyKey }) => idempotencyKey)
  if (unusable.length > 0 && unusable.length === items.length) throw new TerminalError(expected)
  const [first] = parts
  if (first !== undefined && parts.length === 1) {
    const subject = oneLine(first.subject ?? fill(subjectTemplate, first.words))
    return { subject, text: first.text, unusable }
  }
  const text = parts.map((part) => (part.subject === undefined ? part.text : `${part.subject}\n\n${part.text}`))
  const subject = oneLine(fill(subjectTemplate, wordsOfAll(parts)))
  return { subject, text: text.join(`\n${'-'.repeat(60)}\n\n`), unusable }
}

function toPart(item: SinkItem): Part {
  const message = toMessage(item.event)
  const words = {
    title: message.title,
    type: message.type,
    network: message.network ?? '?',
    severity: message.severity,
    id: message.eventId,
  }
  if (item.payload === undefined) return { words, subject: undefined, text: textOf(message) }
  if (isUnusable(item)) return { words, subject: undefined, text: `${expected} (event ${oneLine(item.event.id)})\n` }
  const { text, subject } = membersOf(item) as { readonly text: string; readonly subject?: string }
  return { words, subject: subject === undefined ? undefined : oneLine(subject), text: `${text}\n` }
}

function isUnusable(item: SinkItem): boolean {
  const { text, subject } = membersOf(item)
  const isMail = typeof text === 'string' && (subject === undefined || typeof subject === 'string')
  return item.payload !== undefined && !isMail
}

function membersOf({ payload }: SinkItem): Readonly<Record<string, unknown>> {
  return Object(payload) as Record<string, unknown>
}

function textOf({ title, facts, links, type, network, time, eventId, text }: Message): string {
  const lines = [
    title,
    '',
    ...(text === undefined ? [] : [text, '']),
    ...facts.map(([label, value]) => `${label}: ${value}`),
    ...links.map(({ label, url }) => `${label}: ${url}`),
    '',
    ...[`type: ${type}`, `network: ${network ?? '?'}`, `created: ${time}`, `event: ${eventId}`].map(oneLine),
  ]
  return `${lines.join('\n')}\n`
}

/** Values for the subject of a digest. A value that differs between its events is shown as `several`. */
function wordsOfAll(parts: readonly Part[]): Words {
  const common = (name: Placeholder) => {
    const different = new Set(parts.map(({ words }) => words[name]))
    const [only = '?'] = different
    return different.size === 1 ? only : 'several'
  }
  const worst = severities.findLast((severity) => parts.some(({ words }) => words.severity === severity)) ?? 'info'
  return {
    title: `${parts.length} events`,
    type: common('type'),
    network: common('network'),
    severity: worst,
    id: common('id'),
  }
}

function fill(template: string, words: Words): string {
  return template.replaceAll(/\{(title|type|network|severity|id)\}/g, (_all, name: Placeholder) => words[name])
}

function oneLine(text: string): string {
  return formatText(text, maxSubjectLength).toWellFormed()
}
