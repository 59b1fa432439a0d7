import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { addCheckCommand } from '../../src/cli/check.ts'
import { readSecretArgument } from '../../src/cli/secret-argument.ts'
import { addVerifyCommand } from '../../src/cli/verify.ts'
import { InboxError } from '../../src/base/errors.ts'
import { sign } from '../../src/signature/sign.ts'
import { forPeople } from '../support/cli.ts'

const secret = '0123456789abcdef'
const body = '{"id":"evt_1"}'
const dir = await mkdtemp(join(tmpdir(), 'inbox-cli-'))
const bodyFile = join(dir, 'body.json')
const secretFile = join(dir, 'secret')
await writeFile(bodyFile, body)
await writeFile(secretFile, `${secret}\n`)
afterAll(() => rm(dir, { recursive: true }))

let handlerTypes = ['wallet.large_trade']
let out = ''
let err = ''
beforeEach(() => {
  handlerTypes = ['wallet.large_trade']
  out = ''
  err = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => (out += String(text)) !== '')
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => (err += String(text)) !== '')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  process.exitCode = 0
})

async function run(...args: string[]): Promise<number> {
  const program = new Command()
  addVerifyCommand(program)
  addCheckCommand(program, {
    checkHandlers: async ({ handlersDir }) => {
      const folder = handlersDir ?? ''
      if (folder.endsWith('broken')) throw new InboxError('handler_invalid', 'a.ts is broken')
      return folder.endsWith('empty') ? [] : [{ name: 'big', types: handlerTypes, file: join(folder, 'big.ts') }]
    },
  })
  await program.parseAsync(forPeople(args), { from: 'user' })
  return Number(process.exitCode ?? 0)
}

describe('verify', () => {
  const verify = (signature: string, ...more: string[]) =>
    run('verify', '--secret', `@${secretFile}`, '--body', `@${bodyFile}`, '--signature', signature, ...more)

  test('R75 ends with 0 for a valid signature and with 1 for any other', async () => {
    expect(await verify(sign(Buffer.from(body), secret))).toBe(0)
    expect(out).toMatch(/^valid \(secret: secret-1\)\n/)
    expect(await verify('0'.repeat(64))).toBe(1)
    expect(out).toContain('not valid: wrong_secret')
  })

  test('R73 explains a near miss, as JSON too', async () => {
    expect(await verify(sign(Buffer.from(`${body}\n`), secret), '--json')).toBe(1)
    expect(JSON.parse(out)).toEqual({
      valid: false,
      code: 'body_newline',
      matchedLabel: 'secret-1',
      message: expect.stringContaining('line break'),
    })
  })

  test('A31 without a signature says that it is missing', async () => {
    expect(await run('verify', '--secret', `@${secretFile}`, '--body', `@${bodyFile}`)).toBe(1)
    expect(out).toContain('not valid: missing')
  })

  test('A32 takes all secrets of INBOX_SECRETS', async () => {
    vi.stubEnv('INBOX_SECRETS', `new:fedcba9876543210,old:${secret}`)
    const signature = sign(Buffer.from(body), secret)
    expect(
      await run('verify', '--secret', 'env:INBOX_SECRETS', '--body', `@${bodyFile}`, '--signature', signature),
    ).toBe(0)
    expect(out).toContain('(secret: old)')
  })

  test('P8 takes the signature from a file or the environment, and warns of one on the command line', async () => {
    const signature = sign(Buffer.from(body), secret)
    const signatureFile = join(dir, 'signature')
    await writeFile(signatureFile, `${signature}\n`)
    vi.stubEnv('THE_SIGNATURE', signature)
    for (const argument of [`@${signatureFile}`, 'env:THE_SIGNATURE']) expect(await verify(argument)).toBe(0)
    expect(err).toBe('')
    expect(await verify(signature)).toBe(0)
    expect(err).toMatch(/^warning: every user of this machine can read a signature/)
    expect(err).not.toContain(signature)
    expect(await verify('@/gone')).toBe(1)
    expect(err).toContain('/gone cannot be read (ENOENT)')
  })

  test.each([
    ['P8 a literal secret', [secret, `@${bodyFile}`], 'cannot stand on the command line'],
    ['a literal body', [`@${secretFile}`, body], '--body: expected @file'],
    ['a body that is not there', [`@${secretFile}`, '@/gone'], '/gone cannot be read'],
    ['a secret that is not there', ['@/gone', `@${bodyFile}`], '/gone cannot be read (ENOENT)'],
    ['an unset variable', ['env:NOT_SET_ANYWHERE', `@${bodyFile}`], 'NOT_SET_ANYWHERE is not set'],
    ['P8 a literal after env:', [`env:${secret}`, `@${bodyFile}`], 'after env: the name'],
    ['standard input for both', ['-', '-'], 'can come from standard input'],
  ])('%s is refused', async (_title, [secretArgument = '', bodyArgument = ''], reason) => {
    expect(await run('verify', '--secret', secretArgument, '--body', bodyArgument)).toBe(1)
    expect(err).toContain(reason)
    expect(out + err).not.toContain(secret)
  })
})

describe('secret argument', () => {
  test.each(['http://127.0.0.1:8080/webhooks', 'http://localhost/', 'https://[::1]:1/'])(
    'P8 is taken as a literal, with a warning, for %s',
    async (url) => {
      expect(await readSecretArgument(secret, { url })).toBe(secret)
      expect(err).toMatch(/^warning: /)
      expect(err).not.toContain(secret)
    },
  )

  test.each(['https://example.com/', 'http://127.0.0.1.example.com/', 'http://localhost@example.com/', 'nonsense'])(
    'P8 is refused as a literal for %s',
    async (url) => {
      await expect(readSecretArgument(secret, { url })).rejects.toThrow('cannot stand on the command line')
    },
  )
})

describe('check', () => {
  const check = (...more: string[]) => {
    vi.stubEnv('INBOX_SECRETS', `main:${secret}`)
    return run('check', ...more)
  }

  test('P8 prints configuration, handlers and warnings, without secrets', async () => {
    vi.stubEnv('INBOX_PROT', '1')
    expect(await check()).toBe(0)
    expect(out).toMatch(/webhook secrets +set \(labels: main\)/)
    expect(out).toMatch(/big +wallet\.large_trade/)
    expect(out).toContain('warning: INBOX_PROT is not a setting')
    expect(await check('--json')).toBe(0)
    expect(out).not.toContain(secret)
  })

  test('prints JSON', async () => {
    expect(await check('--json')).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      config: { 'webhook secrets': 'set (labels: main)' },
      handlers: [{ name: 'big', types: ['wallet.large_trade'] }],
      warnings: [],
    })
  })

  test('ends with 1 when the configuration or a handler cannot be used', async () => {
    vi.stubEnv('INBOX_PORT', 'x')
    expect(await check()).toBe(1)
    expect(err).toMatch(/^config_invalid: .*\n  INBOX_PORT: got "x"/)
    vi.stubEnv('INBOX_PORT', '1')
    vi.stubEnv('INBOX_HANDLERS', './broken')
    expect(await check('--json')).toBe(1)
    expect(err).toContain('handler_invalid')
  })

  test('settings that cannot be used do not hide the handlers', async () => {
    vi.stubEnv('INBOX_PORT', 'x')
    expect(await check()).toBe(1)
    expect(out).toMatch(/^handler +event types +file\nbig /)
    out = ''
    expect(await check('--json')).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ config: null, handlers: [{ name: 'big' }] })
  })

  test('settings and handlers that cannot be used are reported together, in one JSON object too', async () => {
    vi.stubEnv('INBOX_PORT', 'x')
    vi.stubEnv('INBOX_HANDLERS', './broken')
    expect(await check()).toBe(1)
    expect(out).toBe('')
    expect(err).toMatch(/^config_invalid: .*\n  INBOX_PORT: got "x".*\nhandler_invalid: a\.ts is broken\n$/s)
    err = ''
    expect(await check('--json')).toBe(1)
    expect(JSON.parse(err)).toEqual({
      error: { code: 'config_invalid', message: expect.stringContaining('\nhandler_invalid: a.ts is broken') },
    })
  })

  test('the folder of a config file that cannot be used is not guessed', async () => {
    const file = join(dir, 'broken.config.mjs')
    await writeFile(file, 'nonsense(')
    expect(await check('--config', file)).toBe(1)
    expect(out).toBe('')
    vi.stubEnv('INBOX_HANDLERS', './mine')
    expect(await check('--config', file)).toBe(1)
    expect(out).toContain('mine/big.ts')
  })

  test('warns of types that no documented event has, and of a folder without handlers', async () => {
    handlerTypes = ['*', 'wallet.*', 'token.price_alert', 'walet.*', 'wallet.larg_trade', 'wallet']
    expect(await check('--json')).toBe(0)
    const { warnings } = JSON.parse(out) as { warnings: string[] }
    expect(warnings).toEqual([
      expect.stringContaining('big takes walet.*,'),
      expect.stringContaining('big takes wallet.larg_trade,'),
      expect.stringContaining('big takes wallet,'),
    ])
    out = ''
    vi.stubEnv('INBOX_HANDLERS', './empty')
    expect(await check()).toBe(0)
    expect(out).toMatch(/warning: there are no handlers in .*empty/)
  })
})
