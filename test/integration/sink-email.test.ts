import { describe, expect, test } from 'vitest'
import emailKind from '../../handlers/sinks/email.ts'
import { TerminalError } from '../../src/index.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { anItem, aSinkContext, underTest } from '../support/sink-items.ts'
import { startSmtp, type TestSmtp } from '../support/smtp.ts'

function aMailSink({ port }: TestSmtp, more: Record<string, unknown> = {}) {
  const options = emailKind.options.parse({
    url: `smtp://127.0.0.1:${port}`,
    from: 'Inbox <inbox@example.com>',
    to: 'desk@example.com',
    ...more,
  })
  return underTest(emailKind.create({ name: 'desk', options }))
}

const trade = (id: string, data: Record<string, unknown> = {}) =>
  anItem({ id, type: 'wallet.large_trade', data: { ...eventSamples['wallet.large_trade'].data, ...data } })
const honeypot = (id: string) =>
  anItem({ id, type: 'contract.honeypot_detected', data: eventSamples['contract.honeypot_detected'].data })
const subjectOf = (smtp: TestSmtp, at = 0) => smtp.mails[at]!.headers.get('subject')![0]!

describe('the sink `email`', () => {
  test('sends one mail per event, with addresses and subject of the settings', async () => {
    await using smtp = await startSmtp()
    await using sink = aMailSink(smtp, {
      to: ['desk@example.com', 'risk@example.com'],
      subject: '{severity} {network} {type} {id}',
    })
    await sink.send([trade('evt_1')])
    expect(smtp.mails).toHaveLength(1)
    const [mail] = smtp.mails
    expect(mail).toMatchObject({ from: 'inbox@example.com', to: ['desk@example.com', 'risk@example.com'] })
    expect(subjectOf(smtp)).toBe('info ethereum wallet.large_trade evt_1')
    expect(mail!.headers.get('from')).toEqual(['Inbox <inbox@example.com>'])
    expect(mail!.headers.get('auto-submitted')).toEqual(['auto-generated'])
    const { wallet_address, tx_hash } = eventSamples['wallet.large_trade'].data
    for (const part of [wallet_address, tx_hash, 'https://', 'event: evt_1', 'created: 2026-01-31T14:03:22.123Z']) {
      expect(mail!.text).toContain(part)
    }
  })

  test('a repeat has the same Message-ID, other events another', async () => {
    await using smtp = await startSmtp()
    await using sink = aMailSink(smtp)
    for (const items of [[trade('evt_1')], [trade('evt_1')], [trade('evt_2')], [trade('evt_1'), trade('evt_2')]]) {
      await sink.send(items)
    }
    const ids = smtp.mails.map(({ headers }) => headers.get('message-id')![0]!)
    expect(ids[0]).toMatch(/^<[0-9a-f]{40}@example\.com>$/)
    expect(ids[1]).toBe(ids[0])
    expect(new Set(ids).size).toBe(3)
  })

  test('several items become one digest, oldest first, with the highest severity', async () => {
    await using smtp = await startSmtp()
    await using sink = aMailSink(smtp)
    const items = [
      { ...trade('evt_10'), id: '10' },
      { ...honeypot('evt_9'), id: '9' },
      { ...trade('evt_8'), id: '8', payload: { text: 'by a handler', subject: 'custom' } },
    ]
    await sink.send(items)
    expect(subjectOf(smtp)).toBe('[critical] 3 events')
    const { text } = smtp.mails[0]!
    const places = ['custom\n\nby a handler', 'event: evt_9', 'event: evt_10'].map((part) => text.indexOf(part))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  test('sends enqueued { text, subject }, and makes dead letters of other payloads', async () => {
    await using smtp = await startSmtp()
    await using sink = aMailSink(smtp)
    await sink.send([anItem({ id: 'evt_1' }, { payload: { text: 'héllo\n.\nend', subject: 'S' } })])
    expect(subjectOf(smtp)).toBe('S')
    expect(smtp.mails[0]!.text.trim()).toBe('héllo\n.\nend')
    for (const payload of ['text', null, { text: 1 }, { text: 'x', subject: 1 }]) {
      const sending = sink.send([anItem({ id: 'evt_1' }, { payload })])
      await expect(sending, JSON.stringify(payload)).rejects.toThrow(TerminalError)
    }
  })

  test('a digest explains an invalid payload and keeps the other items', async () => {
    await using smtp = await startSmtp()
    await using sink = aMailSink(smtp)
    const context = aSinkContext()
    const bad = { ...trade('evt_bad'), id: '8', payload: { body: 'no text' }, idempotencyKey: 'desk:evt_bad:0' }
    await sink.send([{ ...trade('evt_good'), id: '7' }, bad], context)
    expect(smtp.mails).toHaveLength(1)
    for (const part of ['event: evt_good', 'an email sink takes { text: string', '(event evt_bad)'])
      expect(smtp.mails[0]!.text).toContain(part)
    expect(context.lines).toMatchObject([{ level: 'error', items: ['desk:evt_bad:0'] }])
  })

  test('external data neither becomes a header nor ends the mail', async () => {
    await using smtp = await startSmtp()
    await using sink = aMailSink(smtp, { subject: '{title} {type} {network} {id}' })
    const evil = 'a\r\nBcc: thief@example.com\r\n\r\n.\r\nQUIT\r\n\u2028\0'
    const item = anItem({ id: evil, type: evil, data: { network: evil, symbol: evil, [evil]: evil } })
    await sink.send([item])
    await sink.send([trade('evt_1', { token_symbol: evil, network: evil })])
    await sink.send([anItem({ id: 'evt_1' }, { payload: { text: evil, subject: evil } })])
    expect(smtp.mails).toHaveLength(3)
    for (const { headers, to } of smtp.mails) {
      expect(to).toEqual(['desk@example.com'])
      const names = 'auto-submitted content-transfer-encoding content-type date from message-id mime-version subject to'
      expect([...headers.keys()].toSorted().join(' ')).toBe(names)
      expect([...headers.values()].every(({ length }) => length === 1)).toBe(true)
    }
  })

  test.for([
    ['recipient', 550, true],
    ['data', 554, true],
    ['recipient', 450, false],
    ['data', 451, false],
    // A digest is retried.
    ['data', 554, false, [trade('evt_1'), trade('evt_2')]],
  ] as const)(
    'a refusal of the %s with %i is permanent: %s',
    async ([at, code, isForGood, items = [trade('evt_1')]]) => {
      await using smtp = await startSmtp()
      await using sink = aMailSink(smtp)
      smtp.refusals.push({ at, code })
      const error = await sink.send([...items]).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Error)
      expect(error instanceof TerminalError).toBe(isForGood)
      await sink.send([...items])
      expect(smtp.mails).toHaveLength(1)
    },
  )

  test('recipients refused for now get the mail alone, by a retry; those refused for good are logged', async () => {
    await using smtp = await startSmtp()
    const to = ['gone@example.com', 'late@example.com', 'later@example.com', 'desk@example.com']
    await using sink = aMailSink(smtp, { to })
    const pauses: number[] = []
    const context = aSinkContext({ pause: (ms) => pauses.push(ms) })
    smtp.refusals.push(...[550, 451, 451].map((code) => ({ at: 'recipient', code }) as const))
    await expect(sink.send([trade('evt_1')], context)).rejects.toMatchObject({ responseCode: 451 })
    smtp.refusals.push(...[450, 450].map((code) => ({ at: 'recipient', code }) as const))
    await expect(sink.send([trade('evt_1')], context)).rejects.toMatchObject({ responseCode: 450 })
    await sink.send([trade('evt_1'), { ...trade('evt_2'), id: '8' }], context)
    expect(smtp.mails.map((mail) => mail.to)).toEqual([to.slice(3), to.slice(1, 3), to])
    expect(smtp.mails[1]!.text).toBe(smtp.mails[0]!.text)
    // The others have the mail.
    const other = { ...trade('evt_3'), id: '9' }
    smtp.refusals.push({ at: 'recipient', code: 451 })
    await expect(sink.send([other], context)).rejects.toMatchObject({ responseCode: 451 })
    smtp.refusals.push({ at: 'recipient', code: 550 })
    await sink.send([other], context)
    expect(context.lines.map(({ rejected }) => rejected)).toEqual([3, 2, 1, 1])
    // The breaker counts no failure.
    expect(pauses).toEqual([0, 0, 0])
    smtp.refusals.push(...[550, 550, 451, 550].map((code) => ({ at: 'recipient', code }) as const))
    const nobody = await sink.send([{ ...other, id: '10' }], context).catch((thrown: unknown) => thrown)
    expect(nobody).not.toBeInstanceOf(TerminalError)
    await sink.send([{ ...other, id: '10' }], context)
    expect(smtp.mails.at(-1)?.to).toEqual(to)
  })

  test('logs in over TLS, with smtps from the start; a wrong password is retried and not shown', async () => {
    await using smtp = await startSmtp()
    const url = (password: string) => ({ url: `smtp://me%40example.com:${password}@localhost:${smtp.port}` })
    await using sink = aMailSink(smtp, url('of-the-test'))
    await sink.send([trade('evt_1')])
    expect(smtp.mails).toMatchObject([{ user: 'me@example.com', isTls: true }])
    await using wrong = aMailSink(smtp, url('hunter2-secret'))
    const error = await wrong.send([trade('evt_1')]).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(TerminalError)
    expect(String(error)).not.toContain('hunter2')
    await using secure = await startSmtp({ secure: true })
    await using smtps = aMailSink(secure, { url: `smtps://localhost:${secure.port}` })
    await smtps.send([trade('evt_1')])
    expect(secure.mails).toMatchObject([{ isTls: true }])
  })

  // 0.0.0.0 is this machine, but doesn't count as loopback.
  test('a remote server without TLS or with an invalid certificate gets neither password nor mail', async () => {
    await using plain = await startSmtp({ disabledCommands: ['STARTTLS'] })
    await using unknown = await startSmtp()
    for (const smtp of [plain, unknown]) {
      const url = `smtp://me:of-the-test@0.0.0.0:${smtp.port}`
      await using sink = aMailSink(smtp, { url })
      await expect(sink.send([trade('evt_1')])).rejects.toThrow()
      expect([smtp.mails, smtp.logins]).toEqual([[], []])
      await using insecure = aMailSink(smtp, { url: `smtp://0.0.0.0:${smtp.port}`, allowInsecure: true })
      await insecure.send([trade('evt_1')])
      expect(smtp.mails).toHaveLength(1)
    }
  })

  test('an aborted attempt ends at once', async () => {
    await using smtp = await startSmtp({ onConnect: () => {} })
    await using sink = aMailSink(smtp)
    const controller = new AbortController()
    const sending = sink.send([trade('evt_1')], aSinkContext({ signal: controller.signal }))
    setImmediate(() => controller.abort(new Error('time is over')))
    await expect(sending).rejects.toThrow('aborted')
  })

  test.for([
    ['url', 'http://example.com'],
    ['url', 'smtp://'],
    ['url', 'smtp://a:%zz@example.com'],
    ['from', 'a@example.com\r\nBcc: b@example.com'],
    ['to', 'no address'],
    ['to', []],
    ['subject', '{password}'],
  ] as const)('refuses the option %s: %j', ([name, value]) => {
    const good = { url: 'smtp://mail.example.com', from: 'a@example.com', to: 'b@example.com' }
    expect(emailKind.options.safeParse(good).success).toBe(true)
    const problems = emailKind.options.safeParse({ ...good, [name]: value }).error?.issues
    expect(problems?.map(({ path }) => path[0])).toEqual([name])
  })
})
