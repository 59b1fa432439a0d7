import { tmpdir } from 'node:os'
import { afterAll, expect, test, vi } from 'vitest'
import { arrivalOf, createDeadLetters, quarantinedOf } from '../fixtures/stored-events.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { cliFile, inTerminal, outputOf, runCli } from '../support/cli.ts'
import { has } from '../support/tools.ts'

const hasTerminals = process.platform === 'linux' && has('script')
const escape = '\u001b['
const evil = 'a\u202ebad\u009b31mname'

const stage = await createAdminStage()
afterAll(() => stage[Symbol.asyncDispose]())
await createDeadLetters(stage.inbox, ['evt_1', 'evt_2'], `no pair ${escape}31m`)
await stage.inbox.accept([
  arrivalOf('evt_3', 'token.price_alert', '18446744073709551615'),
  { ...arrivalOf('evt_4'), raw: Buffer.from(`{"id":"evt_4","type":"x","created_at":"","data":{"name":"${evil}"}}`) },
])

const run = (args: string, env: Record<string, string> = {}) =>
  runCli(args.split(' '), { cwd: tmpdir(), env: { ...stage.env, ...env } })

interface ListOfIds {
  readonly data: readonly { readonly id: string }[]
  readonly next_cursor: string | null
}

test('prints text in a pipe, with colours only if FORCE_COLOR is set', async () => {
  const { code, out, errors } = await run('dead list')
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(out).toMatch(/^run_id +died_at +handler +type +attempt +event_id +error\n/)
  expect(out).not.toContain(escape)
  vi.stubEnv('FORCE_COLOR', '1')
  const colored = await run('events list')
  vi.unstubAllEnvs()
  expect(colored.out).toContain(`${escape}31mdead${escape}39m`)
})

test('--json prints one document with exact numbers and the next cursor', async () => {
  const first = JSON.parse((await run('events list --limit 2 --json')).out) as ListOfIds
  expect(first.data.map(({ id }) => id)).toEqual(['evt_4', 'evt_3'])
  const rest = JSON.parse((await run(`events list --json --cursor ${first.next_cursor}`)).out) as ListOfIds
  expect(rest).toMatchObject({ data: [{ id: 'evt_2' }, { id: 'evt_1' }], next_cursor: null })
  expect((await run('events show evt_3 --json')).out).toContain('"amount":18446744073709551615')
  expect((await run('handlers pause --all --json')).out).toBe('{"handler":null,"paused":true,"shut":null}\n')
})

test('escapes control characters of events on a terminal, also in JSON and raw bytes', async () => {
  const { id } = quarantinedOf(Buffer.from(`{${escape}2J`))
  await stage.inbox.accept([quarantinedOf(Buffer.from(`{${escape}2J`))])
  const lines = [
    'events show evt_4',
    'events show evt_4 --json',
    'events show evt_4 --raw',
    `quarantine show ${id} --raw`,
  ]
  const options = { cwd: tmpdir(), env: stage.env, columns: 200 }
  const shown = await Promise.all(lines.map((line) => runCli(line.split(' '), options)))
  const texts = shown.map(({ out }) => out)
  // eslint-disable-next-line no-control-regex
  for (const text of texts) expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  expect(texts[0]).toMatch(/^event\n/)
  expect(JSON.parse(texts[1] ?? '')).toMatchObject({ envelope: { data: { name: evil } } })
  expect(texts[3]).toBe('{\\u001b[2J\n')
})

test.skipIf(!hasTerminals)('fits a table to the terminal, with colours (needs script)', async () => {
  const command = inTerminal([process.execPath, cliFile, 'dead', 'list'], 60)
  const [title = '', first = ''] = (await outputOf(command, stage.env)).split('\r\n')
  expect(title).toContain(`${escape}1mrun_id${escape}22m`)
  expect(first).toContain('…')
})

test('--from and --to take ages', async () => {
  await stage.inbox.accept([{ ...arrivalOf('evt_now'), receivedAt: Date.now() }])
  const idsOf = async (args: string) =>
    (JSON.parse((await run(`events list --json ${args}`)).out) as ListOfIds).data.map(({ id }) => id)
  expect(await idsOf('--from 1h')).toEqual(['evt_now'])
  expect(await idsOf('--to 1h')).not.toContain('evt_now')
})
