import { createHash } from 'node:crypto'
import type { NodemailerError, SMTPSentMessageInfo, Transporter } from 'nodemailer'
import { TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { formatText, type Severity } from 'onchain-inbox/format'
import { z } from 'zod'
import { createConnection, requirePeers } from './common/connection.ts'
import {
  isLoopback,
  isServerUrl,
  oneOrMore,
  shownOption,
  requireValid,
  type SinkKind,
  type SinkSetup,
} from './common/kind.ts'
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
const placeholders = ['title', 'type', 'network', 'severity', 'id'] as const

const options = z.strictObject({
  url: z.string().refine((text) => isServerUrl(text, ['smtp:', 'smtps:'], /^\/?$/), {
    error: 'expected smtp://host:587 or smtps://host:465, with percent-encoded user and password if needed',
  }),
  from: sender,
  to: oneOrMore(address),
  /** Template with `{title}`, `{type}`, `{network}`, `{severity}` and `{id}`. */
  subject: z
    .string()
    .min(1)
    .max(200)
    .refine(
      (text) => [...text.matchAll(/\{([^{}]*)\}/g)].every(([, name]) => placeholders.some((known) => known === name)),
      {
        error: `known placeholders: ${placeholders.map((name) => `{${name}}`).join(', ')}`,
      },
    )
    .default('[{severity}] {title}'),
  /** True: allows a remote server without TLS. */
  allowInsecure: z.boolean().default(false),
})

type Options = z.output<typeof options>

/**
 * Sends one mail per event, or a digest of up to 50 events in a burst. A remote server must offer TLS. If the server
 * permanently rejects a mail (5xx), its item becomes a dead letter; the items of a digest are retried. A retry of the
 * same items has the same Message-ID, and skips recipients that an earlier attempt in this process reached.
 */
export default {
  options,
  target: ({ url, to }) => `${shownOption(url)} ${shownOption(to)}`,
  example:
    "{ kind: 'email', url: 'smtps://user:password@smtp.example.com:465', from: 'inbox@example.com', to: 'desk@example.com' }",
  create,
  check: ({ name }) => requirePeers(name, ['nodemailer']),
} satisfies SinkKind<typeof options>

/** Timeout for connecting, and for the server's greeting. */
const connectMs = 10_000
/** Maximum number of items to remember until their send succeeds. All recipients get the mail of a forgotten one again. */
const maxRemembered = 10_000

function create({ options }: SinkSetup<Options>): Readonly<SinkDefinition<'*'>> {
  const transport = createConnection({ open: () => openTransport(options), close: (opened) => opened.close() })
  /** Recipients to retry, separated by commas, by the id of an item that was sent. */
  const remaining = new Map<string, string>()
  return {
    batch: 50,
    order: 'none',
    concurrency: 1,
    timeoutMs: 60_000,
    retry: { attempts: 100, baseMs: 5_000, capMs: 1_800_000 },
    breaker: {},
    async send(items, ctx) {
      const { signal, log } = ctx
      const sorted = items.toSorted((a, b) => Number(a.id) - Number(b.id))
      const invalid = sorted.filter((item) => item.payload !== undefined && mailOf(item) === undefined)
      requireValid(items, invalid, rule, log)
      const opened = await transport.get()
      for (const id of remaining.keys()) {
        if (remaining.size <= maxRemembered) break
        remaining.delete(id)
      }
      const refusals: NodemailerError[] = []
      for (const [to, part] of Map.groupBy(sorted, ({ id }) => remaining.get(id) ?? options.to.join())) {
        if (to === '') continue
        const { rejectedErrors = [] } = await opened
          .sendMail({
            from: options.from,
            to: [...options.to],
            envelope: { from: options.from, to },
            ...toMail(part, options.subject),
            messageId: messageId(part, options.from),
            headers: { 'Auto-Submitted': 'auto-generated' },
            signal,
          })
          .catch((error: NodemailerError) => {
            // Others have the mail of a remembered item, so it is no dead letter if the rest is refused for good.
            const isRepeat = part.some(({ id }) => remaining.has(id))
            if (isRepeat && error.rejectedErrors !== undefined) return error
            throw toRefusal(error, sorted.length > 1)
          })
        if (rejectedErrors.length > 0) log.warn({ rejected: rejectedErrors.length }, 'mail server rejected recipients')
        const temporary = rejectedErrors.filter((error) => !isPermanent(error))
        for (const { id } of part) remaining.set(id, temporary.map(({ recipient }) => recipient).join())
        refusals.push(...temporary)
      }
      // While the server accepts mails for other recipients, the breaker must not count a failure.
      if (refusals.length > 0 && new Set(refusals.map(({ recipient }) => recipient)).size < options.to.length)
        ctx.pause(0)
      if (refusals[0] !== undefined) throw refusals[0]
      for (const { id } of sorted) remaining.delete(id)
    },
    close: () => transport.forget(),
  }
}

type MailTransport = Pick<Transporter<SMTPSentMessageInfo>, 'sendMail' | 'close'>

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

const isPermanent = ({ responseCode = 0 }: NodemailerError) => responseCode >= 500 && responseCode !== 503

/**
 * A TerminalError if the server permanently rejected the mail for all recipients, else the error itself. The server doesn't say which
 * item of a digest it rejected, so all are retried until the rejected one is sent alone.
 */
function toRefusal(error: NodemailerError, isDigest: boolean): Error {
  const isMailError = error.code === 'EENVELOPE' || error.code === 'EMESSAGE'
  const isForGood = isMailError && [error, ...(error.rejectedErrors ?? [])].every(isPermanent)
  if (!isForGood || isDigest) return error
  return new TerminalError(`the mail server rejected the mail: ${error.message}`, { cause: error })
}

type Placeholder = (typeof placeholders)[number]

/** The mail text of one item. */
interface Part {
  /** Values of the placeholders. */
  readonly words: Readonly<Record<Placeholder, string>>
  /** Subject enqueued by a handler; undefined: use the template. */
  readonly subject: string | undefined
  readonly text: string
}

const payload = z.object({ text: z.string(), subject: z.string().optional() })
const rule = 'an email sink takes { text: string, subject?: string } from handlers'
const severities: readonly Severity[] = ['info', 'warning', 'critical']
/** Maximum characters of a subject, and of other values on one line. */
const maxSubjectLength = 200

/** The enqueued mail; undefined for an event or an invalid payload. */
const mailOf = (item: SinkItem) => payload.safeParse(item.payload).data

/** Subject and text of a mail about these items. */
function toMail(items: readonly SinkItem[], subjectTemplate: string) {
  const parts = items.map(toPart)
  const [first] = parts
  if (first !== undefined && parts.length === 1)
    return { subject: oneLine(first.subject ?? fill(subjectTemplate, parts)), text: first.text }
  const texts = parts.map(({ subject, text }) => (subject === undefined ? text : `${oneLine(subject)}\n\n${text}`))
  return { subject: oneLine(fill(subjectTemplate, parts)), text: texts.join(`\n${'-'.repeat(60)}\n\n`) }
}

function toPart(item: SinkItem): Part {
  const message = toMessage(item.event)
  const { title, type, network, severity, eventId: id } = message
  const mail = mailOf(item)
  const notice = `${rule} (event ${oneLine(id)})`
  const text = item.payload === undefined ? textOf(message) : (mail?.text ?? notice)
  return {
    words: { title, type, network: network ?? '?', severity, id },
    subject: mail?.subject,
    text: `${text}\n`,
  }
}

function textOf({ title, facts, links, type, network, time, eventId, text }: Message): string {
  return [
    title,
    '',
    ...(text === undefined ? [] : [text, '']),
    ...facts.map(([label, value]) => `${label}: ${value}`),
    ...links.map(({ label, url }) => `${label}: ${url}`),
    '',
    ...[`type: ${type}`, `network: ${network ?? '?'}`, `created: ${time}`, `event: ${eventId}`].map(oneLine),
  ].join('\n')
}

/** Fills in the subject. In a digest, a value that differs between events becomes `several`. */
function fill(template: string, parts: readonly Part[]): string {
  return template.replaceAll(/\{(title|type|network|severity|id)\}/g, (_all, name: Placeholder) => {
    const values = new Set(parts.map(({ words }) => words[name]))
    if (parts.length > 1 && name === 'title') return `${parts.length} events`
    if (name === 'severity') return severities.findLast((severity) => values.has(severity)) ?? 'info'
    const [value = '?'] = values
    return values.size === 1 ? value : 'several'
  })
}

function oneLine(text: string): string {
  return formatText(text, maxSubjectLength).toWellFormed()
}
