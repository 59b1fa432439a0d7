import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli, startCli } from '../support/cli.ts'

const root = join(import.meta.dirname, '../..')
const run = (...args: string[]) => runCli(args, { cwd: tmpdir() })

test.each<[string[], string]>([
  [['verify'], "required option '--body <body>' not specified"],
  [
    ['events', 'list', '--limit', '0'],
    "option '--limit <number>' argument '0' is invalid. Expected a whole number from 1.",
  ],
  [['dead', 'requeue', 'x'], "command-argument value 'x' is invalid"],
  [['serve', '--nope'], "unknown option '--nope'"],
  [['nope'], "unknown command 'nope'"],
  [['event'], 'did you mean events?'],
  [['events', 'lst'], 'did you mean list?'],
  [['dead', 'list', '--limt', '1'], 'did you mean --limit?'],
  [['emulator', '--prot', '1'], 'did you mean --port?'],
  ...['2x', '400d', 'yesterday'].map((age): [string[], string] => [
    ['events', 'list', '--from', age],
    `'--from <time>' argument '${age}' is invalid. Expected a time such as`,
  ]),
])('%j is a usage error, in text and JSON', async (args, message) => {
  const [text, json] = await Promise.all([run(...args), run(...args, '--json')])
  expect(text).toMatchObject({ code: 1, out: '' })
  expect(text.errors).toMatch(/^usage: [^\n]*\n$/)
  expect(text.errors).toContain(message)
  expect(text.errors).toContain('--help')
  expect(json).toMatchObject({ code: 1, out: '' })
  expect(JSON.parse(json.errors)).toEqual({ error: { code: 'usage', message: expect.stringContaining(message) } })
})

const password = 'hunter2-hunter2'

test.each([
  ['events', 'list', '--admin-url', `http://user:${password}@127.0.0.1:1`],
  ['events', 'list', '--admin-url', `ftp://user:${password}@127.0.0.1:1`],
  ['networks', '--api-url', `http://user:${password}@127.0.0.1:1`, '--api-key', 'env:KEY'],
  ['emulator', 'tail', '--emulator', `ftp://user:${password}@127.0.0.1:1`],
  ['emulator', '--webhook', `ftp://user:${password}@example.com`, '--secret', 'env:KEY'],
  ['trigger', 'wallet.large_trade', '--url', `http://user:${password}@127.0.0.1:1`, '--secret', 'env:KEY'],
  ['conformance', '--url', `ftp://user:${password}@127.0.0.1:1`, '--secret', 'env:KEY'],
  ['move', '--from', 'sqlite:./inbox.db', '--to', `postgres://user:${password}@127.0.0.1:1/inbox`],
])('P8 %s %s fails without printing the password of the URL', async (...args) => {
  const { code, out, errors } = await runCli(args, {
    cwd: tmpdir(),
    env: { KEY: 'a-key-of-the-service', INBOX_ADMIN_TOKEN: 'a-token-of-the-operator' },
  })
  expect(code).not.toBe(0)
  expect(errors).not.toBe('')
  expect(out + errors).not.toContain(password)
})

test('an old Node gets an error that names the needed version', async () => {
  const makeOld = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.2' } })`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(makeOld)}` }
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  using old = startCli(['check'], { cwd: tmpdir(), env })
  const { code, out, errors } = await old.ended
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain(`needs Node ${engines.node.slice(2)} or newer, and this is 20.19.2`)
})
