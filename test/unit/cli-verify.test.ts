import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { withHost, type Host } from '../../src/cli/host.ts'
import { readSecretArgument } from '../../src/cli/secret-argument.ts'
import { sign } from '../../src/signature/sign.ts'
import { runCli } from '../support/cli.ts'

const secret = '0123456789abcdef'
const body = '{"id":"evt_1"}'
const cwd = await mkdtemp(join(tmpdir(), 'inbox-cli-'))
await writeFile(join(cwd, 'body.json'), body)
await writeFile(join(cwd, 'secret'), `${secret}\n`)
afterAll(() => rm(cwd, { recursive: true }))

const run = (args: readonly string[], env: Record<string, string> = {}) => runCli(['verify', ...args], { cwd, env })

const signature = sign(Buffer.from(body), secret)
const verify = (argument: string, ...more: string[]) =>
  run(['--secret', '@secret', '--body', '@body.json', '--signature', argument, ...more], { SIGNATURE: signature })

test('R73 R75 verify exits with 0 for a valid signature, and explains others', async () => {
  expect(await verify(signature)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^valid \(secret: secret-1\)\n/),
  })
  const wrong = await verify('0'.repeat(64))
  expect(wrong).toMatchObject({ code: 1, out: expect.stringContaining('not valid: wrong_secret') })
  const near = await verify(sign(Buffer.from(`${body}\n`), secret), '--json')
  expect(near.code).toBe(1)
  const message = expect.stringContaining('line break')
  const expected = { valid: false, code: 'body_newline', matchedLabel: 'secret-1', message }
  expect(JSON.parse(near.out)).toEqual(expected)
})

test('A31 A32 verify reports a missing signature, and tries all secrets of INBOX_SECRETS', async () => {
  const missing = await run(['--secret', '@secret', '--body', '@body.json'])
  expect(missing).toMatchObject({ code: 1, out: expect.stringContaining('not valid: missing') })
  const args = ['--secret', 'env:INBOX_SECRETS', '--body', '@body.json', '--signature', signature]
  const valid = await run(args, { INBOX_SECRETS: `new:fedcba9876543210,old:${secret}` })
  expect(valid).toMatchObject({ code: 0, out: expect.stringContaining('(secret: old)') })
})

test('P8 verify reads the signature from a file or the environment, and warns about a literal', async () => {
  await writeFile(join(cwd, 'signature'), `${signature}\n`)
  for (const argument of ['@signature', 'env:SIGNATURE'])
    expect(await verify(argument)).toMatchObject({ code: 0, errors: '' })
  const { errors } = await verify(signature)
  expect(errors).toMatch(/^warning: every user of this machine can read a signature/)
  expect(errors).not.toContain(signature)
})

test.each([
  [['--secret', '@secret', '--body', '-'], body],
  [['--secret', '-', '--body', '@body.json'], `${secret}\n`],
])('verify %j reads standard input', async (args, stdin) => {
  expect(await runCli(['verify', ...args, '--signature', signature], { cwd, stdin })).toMatchObject({ code: 0 })
})

test.each([
  ['P8 a literal secret', [secret, '@body.json'], 'can read a secret on the command line'],
  ['a literal body', ['@secret', body], '--body must be @file'],
  ['a missing body file', ['@secret', '@/gone'], "can't read /gone"],
  ['a missing secret file', ['@/gone', '@body.json'], '/gone cannot be read (ENOENT)'],
  ['an unset variable', ['env:NOT_SET_ANYWHERE', '@body.json'], 'NOT_SET_ANYWHERE is not set'],
  ['P8 a literal after env:', [`env:${secret}`, '@body.json'], 'env: must be followed by the name'],
  ['standard input for both', ['-', '-'], 'can come from standard input'],
])('verify refuses %s', async (_title, [secretArgument = '', bodyArgument = ''], reason) => {
  const { code, out, errors } = await run(['--secret', secretArgument, '--body', bodyArgument])
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain(reason)
  expect(errors).not.toContain(secret)
})

test.each(['http://127.0.0.1:8080/webhooks', 'http://localhost/', 'https://[::1]:1/'])(
  'P8 a literal secret for %s gets a warning',
  async (url) => {
    let errors = ''
    const stderr = { write: (text: string) => (errors += text) !== '' }
    const read = () => readSecretArgument(secret, { url })
    expect(await withHost({ stderr } as unknown as Host, read)).toBe(secret)
    expect(errors).toMatch(/^warning: /)
    expect(errors).not.toContain(secret)
  },
)

test.each(['https://example.com/', 'http://127.0.0.1.example.com/', 'http://localhost@example.com/', 'nonsense'])(
  'P8 a literal secret for %s is refused',
  async (url) => {
    await expect(readSecretArgument(secret, { url })).rejects.toThrow('can read a secret on the command line')
  },
)
