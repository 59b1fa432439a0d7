import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventSchemas, eventTypes } from '../../schema/index.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { verify } from '../../src/signature/verify.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { linesOf, secret } from './cli-emulator-run.ts'
import { answerStatus, createTestReceiver, type TestReceiver } from './emulator-receiver.ts'
import { startStage } from './emulator-stage.ts'

const lacking: Pick<TestReceiver['requests'][number], 'body' | 'headers'> = { body: Buffer.of(), headers: {} }
const run = (line: string) =>
  runCli(['trigger', ...line.split(' ')], { cwd: tmpdir(), env: { WEBHOOK_SECRET: secret } })

test('R72 without an emulator an event is posted once, signed over its exact bytes', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { code, out, errors } = await run(`pump.graduation --url ${receiver.url} --secret env:WEBHOOK_SECRET`)
  expect([code, errors]).toEqual([0, ''])
  expect(out).toMatch(
    /^pump\.graduation +(evt_\w{26}) {2}triggered \(raw\)\npump\.graduation +\1 {2}200 {2}acknowledged {2}http\S+\n1 acknowledged, 0 not\n$/,
  )
  const [{ body, headers } = lacking, ...others] = receiver.requests
  expect(others).toEqual([])
  expect(verify(body, String(headers['x-service-signature']), parseSecrets(secret))).toMatchObject({ ok: true })
  expect(headers['content-type']).toBe('application/json')
  const { created_at } = eventSchemas['pump.graduation'].parse(JSON.parse(body.toString()))
  expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(600_000)
})

test('R92 raw events of every type have the form of their schema, a hundred times in a row', async () => {
  const events: { readonly id: string; readonly type: string }[] = []
  await using stage = await startStage({ onEvent: (event) => void events.push(event) })
  for (const type of eventTypes) await stage.control('POST', '/trigger', { type, count: 100, set: {} })
  for (const event of events) {
    expect(eventSchemas[event.type as keyof typeof eventSchemas].safeParse(event)).toMatchObject({ success: true })
  }
  expect(new Set(events.map(({ id }) => id)).size).toBe(100 * eventTypes.length)
})

test('members can be set; the secret may come from a file, and a literal one with a warning', async () => {
  await using receiver = await createTestReceiver((response) => response.end('{"status":"accepted"}'))
  await using dir = await createTempDir()
  const file = join(dir.path, 'secret.txt')
  await writeFile(file, `${secret}\n`)
  const line = `token.new_listing --url ${receiver.url} --set data.symbol=PEPE --set data.initial_liquidity_usd=5`
  const fromFile = await run(`${line} --secret @${file} --json`)
  expect(linesOf(fromFile)).toMatchObject([
    { msg: 'event', isRaw: true },
    { msg: 'delivery', state: 'acknowledged', lastStatus: 200 },
    { msg: 'finished', events: 1, acknowledged: 1, notAcknowledged: 0 },
  ])
  const literal = await run(`${line} --secret ${secret}`)
  expect(literal).toMatchObject({
    code: 0,
    errors: expect.stringMatching(/^warning: every user of this machine can read/),
  })
  expect(JSON.parse(String(receiver.requests[0]?.body))).toMatchObject({
    data: { symbol: 'PEPE', initial_liquidity_usd: 5 },
  })
})

test('A25 http goes to this machine only; a URL needs a secret, which cannot stand on the command line for another machine', async () => {
  const [http, alone, literal] = await Promise.all([
    run('wallet.large_trade --url http://inbox.test/ --secret env:WEBHOOK_SECRET'),
    run('wallet.large_trade --url http://127.0.0.1:1/'),
    run(`wallet.large_trade --url https://inbox.test/ --secret ${secret}`),
  ])
  expect(http).toMatchObject({ code: 1, errors: expect.stringContaining('must be https, or http on this machine') })
  expect(alone).toMatchObject({ code: 1, errors: expect.stringContaining('--url and --secret go together') })
  expect(literal).toMatchObject({ code: 1, errors: expect.stringContaining('can read a secret on the command line') })
  expect(literal.errors).not.toContain(secret)
})
