import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'

const root = join(import.meta.dirname, '../..')
const run = (...args: string[]) => runCli(args, { cwd: tmpdir() })

test.each([
  [['verify'], "required option '--secret <secret>' not specified"],
  [
    ['events', 'list', '--limit', '0'],
    "option '--limit <number>' argument '0' is invalid. Expected a whole number from 1.",
  ],
  [['dead', 'requeue', 'x'], "command-argument value 'x' is invalid"],
  [['serve', '--nope'], "unknown option '--nope'"],
  [['nope'], "unknown command 'nope'"],
])('%j is reported as any other error, in text and as JSON, and ends with exit code 1', async (args, message) => {
  const [text, json] = await Promise.all([run(...args), run(...args, '--json')])
  expect(text).toMatchObject({ code: 1, out: '' })
  expect(text.errors).toContain(`usage: ${message}`)
  expect(text.errors).toContain('--help')
  expect(json).toMatchObject({ code: 1, out: '' })
  expect(JSON.parse(json.errors)).toEqual({ error: { code: 'usage', message: expect.stringContaining(message) } })
})

test('on a Node that is too old it says which one is needed, before it reads anything', async () => {
  const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.2' } })`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(old)}` }
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  const { code, out, errors } = await runCli(['check'], { cwd: tmpdir(), env })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain(`needs Node ${engines.node.slice(2)} or newer, and this is 20.19.2`)
})

test('a backup into a folder that is not there is for a person to mend', async () => {
  const { code, errors } = await run('backup', '/no-such-folder/inbox.db')
  expect(code).toBe(1)
  expect(errors).toMatch(/^usage: no backup can be written to the folder \/no-such-folder \(ENOENT: .*\): make it, or/)
})

test('help and version are no mistakes', async () => {
  expect(await run('--help')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Usage: onchain-inbox'),
    errors: '',
  })
  expect(await run('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), errors: '' })
  // Without a command it is not clear what is wanted.
  expect(await run()).toMatchObject({ code: 1, out: '', errors: expect.stringMatching(/^Usage: onchain-inbox/) })
})

test('help of verify has an example of each way to give secret and body', async () => {
  const { out } = await run('verify', '--help')
  for (const argument of ['--secret @', '--secret -', '--secret env:INBOX_SECRETS', '--body @', '--body -']) {
    expect(out.split('Examples:')[1]).toContain(argument)
  }
})

test('help of events list says what each status means that an event can have', async () => {
  const { out } = await run('events', 'list', '--help')
  const text = out.replaceAll(/\s+/g, ' ')
  for (const status of ['pending (', 'running', 'retrying (', 'done (', 'dropped (', 'dead (', 'unhandled ('])
    expect(text).toContain(status)
})
