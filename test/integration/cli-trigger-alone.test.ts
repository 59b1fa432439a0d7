import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventSchemas } from '../../schema/index.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { verify } from '../../src/signature/verify.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { linesOf, secret } from './cli-emulator-run.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

const run = (line: string) =>
  runCli(['trigger', ...line.split(' ')], { cwd: tmpdir(), env: { WEBHOOK_SECRET: secret } })

test('R72 A25 trigger --url posts events that are signed over their exact bytes, each with its own id', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { code, out, errors } = await run(`pump.graduation --url ${receiver.url} --secret env:WEBHOOK_SECRET -n 2`)
  expect([code, errors]).toEqual([0, ''])
  expect(out).toMatch(/^pump\.graduation +(evt_\w{26}) {2}200\npump\.graduation +(?!\1)evt_\w{26} {2}200\n$/)
  expect(receiver.requests).toHaveLength(2)
  const { body, headers } = receiver.requests[0]!
  // A receiver that signs JSON that it wrote itself must fail.
  expect(body.toString()).not.toBe(JSON.stringify(JSON.parse(body.toString())))
  expect(verify(body, String(headers['x-service-signature']), parseSecrets(secret))).toMatchObject({ ok: true })
  expect(headers['content-type']).toBe('application/json')
  const { created_at } = eventSchemas['pump.graduation'].parse(JSON.parse(body.toString()))
  expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000)
})

test('trigger --url sets fields, and reads the secret from a file or, with a warning, from the command line', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  await using dir = await createTempDir()
  const file = join(dir.path, 'secret.txt')
  await writeFile(file, `${secret}\n`)
  const line = `token.new_listing --url ${receiver.url} --set data.symbol=PEPE --set data.initial_liquidity_usd=5`
  const fromFile = await run(`${line} --secret @${file} --json`)
  expect(linesOf(fromFile)).toMatchObject([{ msg: 'delivery', type: 'token.new_listing', status: 200 }])
  const literal = await run(`${line} --secret ${secret}`)
  expect(literal).toMatchObject({
    code: 0,
    errors: expect.stringMatching(/^warning: every user of this machine can read/),
  })
  expect(JSON.parse(String(receiver.requests[0]?.body))).toMatchObject({
    data: { symbol: 'PEPE', initial_liquidity_usd: 5 },
  })
})
