import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'

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
  for (const status of ['pending (', 'running', 'retrying (', 'done (', 'dead (', 'unhandled ('])
    expect(text).toContain(status)
})
