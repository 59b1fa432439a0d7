import type { Transporter } from 'nodemailer'
import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { defineSink, TerminalError, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import type { EmailOptions } from '../../src/config/sinks/email.ts'
import type { SinkSetup } from '../../src/dispatch/bundled-sinks.ts'
import { createConnection } from './common/connection.ts'
import { toMailText } from './common/mail-text.ts'
import { loadPeer, requirePeers } from './common/peer.ts'

const connectMs = 10_000

/**
 * Sends mail by SMTP: one about each event, and under bursts one about up to 50. A server on another machine has to offer TLS. What
 * the server refuses for good (5xx) goes to the dead letters, unless it is a digest; anything else is tried again. A repeat has the
 * same Message-ID.
 */
export default function createEmail({ name, options }: SinkSetup<EmailOptions>): Readonly<SinkDefinition<'*'>> {
  const transport = createConnection({ open: () => openTransport(name, options), close: (opened) => opened.close() })
  return defineSink({
    name,
    batch: 50,
    order: 'none',
    concurrency: 1,
    timeoutMs: 60_000,
    retry: { attempts: 100, baseMs: 5_000, capMs: 1_800_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send(items, { signal, log }) {
      const sorted = items.toSorted((a, b) => Number(a.id) - Number(b.id))
      const { unusable, ...mail } = toMailText(sorted, options.subject)
      if (unusable.length > 0)
        log.error({ items: unusable }, 'what a handler enqueued is no mail; the mail about the others says so')
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
        .catch((error: unknown) => refuse(error, sorted.length > 1))
      if (rejected?.length) log.warn({ rejected: rejected.length }, 'the mail server refused some of the recipients')
    },
    close: () => transport.forget(),
  })
}

/** Whether its package is installed. */
export function check({ name }: SinkSetup<EmailOptions>): void {
  requirePeers(name, ['nodemailer'])
}

type MailTransport = Pick<Transporter, 'sendMail' | 'close'>

async function openTransport(name: string, { url, allowInsecure }: EmailOptions): Promise<MailTransport> {
  const { default: nodemailer } = await loadPeer(name, 'nodemailer', () => import('nodemailer'))
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

/** Whether the server is on this machine for sure. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** The same for the same items, and for no others. */
function messageId(items: readonly SinkItem[], from: string): string {
  const hash = createHash('sha256').update(JSON.stringify(items.map(({ idempotencyKey }) => idempotencyKey)))
  const [, domain = 'localhost'] = /@([^@>]+)>?$/.exec(from) ?? []
  return `<${hash.digest('hex').slice(0, 40)}@${domain}>`
}

/**
 * A refusal of the mail itself; one of the login is for the operator to mend, and the mail can wait for that. Of a digest nobody knows
 * which of its items is refused: they are tried again, each in its own time, until the one has a mail of its own.
 */
function refuse(error: unknown, isDigest: boolean): never {
  if (!(error instanceof Error)) throw error
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  const isForGood = typeof responseCode === 'number' && responseCode >= 500 && responseCode !== 503
  if (isOfMail && isForGood && !isDigest)
    throw new TerminalError(`the mail server refused it: ${error.message}`, { cause: error })
  throw error
}
