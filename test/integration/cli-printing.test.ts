import { tmpdir } from 'node:os'
import { afterAll, expect, test, vi } from 'vitest'
import { arrivalOf, giveUp, quarantinedOf } from '../fixtures/stored-events.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { cliFile, inTerminal, outputOf, runCli } from '../support/cli.ts'
import { has } from '../support/tools.ts'

const hasTerminals = process.platform === 'linux' && has('script')
const escape = '\u001b['
const evil = 'a\u202ebad\u009b31mname'

const stage = await createAdminStage()
afterAll(() => stage[Symbol.asyncDispose]())
await giveUp(stage.inbox, ['evt_1', 'evt_2'], `no pair ${escape}31m`)
await stage.inbox.accept([
  arrivalOf('evt_3', 'token.price_alert', '18446744073709551615'),
  { ...arrivalOf('evt_4'), raw: Buffer.from(`{"id":"evt_4","type":"x","created_at":"","data":{"name":"${evil}"}}`) },
])

const run = (args: string, env: Record<string, string> = {}) =>
  runCli(args.split(' '), { cwd: tmpdir(), env: { ...stage.env, ...env } })
const linesOf = (text: string) => text.split('\n').slice(0, -1)

test('in a pipe a list is one line of JSON for each item, and how to go on stands on standard error', async () => {
  const { code, out, errors } = await run('events list --limit 2')
  expect(code).toBe(0)
  const items = linesOf(out).map((line) => JSON.parse(line) as { id: string })
  expect(items.map(({ id }) => id)).toEqual(['evt_4', 'evt_3'])
  const [, cursor = ''] = /^more: --cursor (\S+)\n$/.exec(errors) ?? []
  const rest = await run(`events list --cursor ${cursor}`)
  expect(linesOf(rest.out).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['evt_2', 'evt_1'])
  expect(rest.errors).toBe('')
})

test('in a pipe anything else is one line of JSON, its numbers exact', async () => {
  const { out } = await run('events show evt_3')
  expect(linesOf(out)).toHaveLength(1)
  expect(out).toContain('"amount":18446744073709551615')
  expect(await run('handlers pause --all')).toEqual({ code: 0, out: '{"handler":null,"paused":true}\n', errors: '' })
})

test('--json is one document, --table is for people also in a pipe, and both together are refused', async () => {
  const [json, table, both] = await Promise.all([
    run('dead list --json'),
    run('dead list --table'),
    run('dead list --table --json'),
  ])
  expect(JSON.parse(json.out)).toMatchObject({
    data: [{ event_id: 'evt_2' }, { event_id: 'evt_1' }],
    next_cursor: null,
  })
  expect(table.out).toMatch(/^run +died +handler +type +attempts +event +error\n/)
  expect(table.out).not.toContain('\u001b')
  expect(both).toMatchObject({ code: 1, out: '' })
  expect(JSON.parse(both.errors)).toMatchObject({ error: { code: 'usage' } })
})

test('--table has colours in a pipe only where FORCE_COLOR says so; NDJSON has none', async () => {
  vi.stubEnv('FORCE_COLOR', '1')
  const [table, lines] = await Promise.all([run('events list --table'), run('events list')])
  vi.unstubAllEnvs()
  expect(table.out).toContain(`${escape}31mdead${escape}39m`)
  expect(lines.out).not.toContain(escape)
})

test('no control character of an event comes to a terminal, as JSON and as raw bytes too', async () => {
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

test.skipIf(!hasTerminals)('on a terminal a list is a table as wide as that, with colours (needs script)', async () => {
  const command = inTerminal([process.execPath, cliFile, 'dead', 'list'], 60)
  const [title = '', first = ''] = (await outputOf(command, stage.env)).split('\r\n')
  expect(title).toContain(`${escape}1mrun${escape}22m`)
  expect(first).toContain('…')
})
