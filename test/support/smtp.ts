import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { tlsPair } from '../fixtures/tls.ts'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly user: string | null
  readonly isTls: boolean
  /** Unfolded values by lower-case name. A repeated header has several values. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** Decoded text of the body. */
  readonly text: string
}

export type TestSmtp = Awaited<ReturnType<typeof startSmtp>>

/** A real SMTP server on loopback, with a self-signed certificate. Accepts only the password `of-the-test`. */
export async function startSmtp(options: SMTPServerOptions = {}) {
  const mails: ReceivedMail[] = []
  /** User names of all login attempts. */
  const logins: string[] = []
  /** Error codes for the next mails, instead of `250`. */
  const refusals: { readonly at: 'recipient' | 'data'; readonly code: number }[] = []

  function refusalAt(at: 'recipient' | 'data'): Error | null {
    if (refusals[0]?.at !== at) return null
    const responseCode = refusals.shift()?.code
    return Object.assign(new Error('not now, or never'), { responseCode })
  }

  const server = new SMTPServer({
    ...tlsPair,
    authOptional: true,
    disableReverseLookup: true,
    onAuth({ username = '', password }, _session, done) {
      logins.push(username)
      if (password === 'of-the-test') done(null, { user: username })
      else done(new Error('wrong password'))
    },
    onRcptTo: (_address, _session, done) => done(refusalAt('recipient')),
    onData(stream, { envelope, user, secure }, done) {
      void buffer(stream).then((bytes) => {
        const refusal = refusalAt('data')
        if (refusal !== null) return done(refusal)
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        const isTls = secure
        mails.push({ from, to, user: typeof user === 'string' ? user : null, isTls, ...readMail(bytes.toString()) })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  return {
    port: (listening.address() as AddressInfo).port,
    mails,
    logins,
    refusals,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

function readMail(source: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const [, head = '', body = ''] = /^(.*?)\r\n\r\n(.*)$/s.exec(source) ?? []
  const headers = new Map<string, string[]>()
  for (const line of head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const [, name = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? []
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value])
  }
  return { headers, text: decode(body, headers.get('content-transfer-encoding')?.[0]) }
}

function decode(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body.replaceAll('\r\n', '\n')
  const bytes = body.replaceAll('=\r\n', '').replaceAll(/=([\dA-F]{2})/g, (_all, hex: string) => `%${hex}`)
  return bytes
    .replaceAll(/(?:%[\dA-F]{2})+/g, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
    .replaceAll('\r\n', '\n')
}
