import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { beginCli } from '../support/cli.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'
import { ask } from './emulator-stage.ts'

/** Runs `emulator` on a free port until its start is printed and `work` is done, then interrupts it. */
async function outputOf(dir: TempDir, args: readonly string[], work = async (_out: string) => {}) {
  const run = beginCli(['emulator', '--port', '0', ...args], { cwd: dir.path })
  await until(() => / {2}try .*\n/.test(run.text.out), 'the printed start')
  await work(run.text.out)
  run.kill('SIGINT')
  return run.ended
}

test('emulator prints accounts, clock and a working example in ten lines', async () => {
  await using dir = await createTempDir()
  await outputOf(dir, ['--history', '6h', '--speed', '60'], async (text) => {
    expect(text).toMatch(/ {2}accounts {7}demo \(pro, key first\)\n/)
    expect(text).toMatch(/ {2}webhooks {7}none yet; --webhook and --secret, or POST \/v1\/webhooks\n/)
    expect(text).toMatch(/ {2}world {10}seed demo, 6h of history, the clock goes ×60\n/)
    expect(text.split('\n').filter((line) => /^(listening| {2})/.test(line)).length).toBeLessThanOrEqual(10)
    const [, header = '', url = ''] = / {2}try +curl -H '(.*)' '(.*)'\n/.exec(text) ?? []
    expect(header).toBe(`Authorization: Bearer ${demoCredentials.apiKey}`)
    expect(url).toContain('/v1/wallets/')
    expect((await ask(url, { headers: { Authorization: header.replace('Authorization: ', '') } })).status).toBe(200)
  })
})

test('R68 a restarted emulator keeps its keys and draws a new control token', async () => {
  await using dir = await createTempDir()
  const args = ['--seed', 'other', '--history', '0', '--data', 'state/emulator.db', '--manual-clock']
  const first = await outputOf(dir, args)
  const second = await outputOf(dir, args)
  const tokenOf = ({ out }: { out: string }) => /control token +(ctl_\S+) +\(drawn at each start/.exec(out)?.[1]
  expect(first.out).toMatch(/ {2}api key +sk_\S+ {2}\(shown once\)/)
  expect(second.out).toMatch(/ {2}api keys +earlier keys stay valid; POST \/_emulator\/keys creates one\n/)
  expect(second.out).toMatch(/seed other, as it was left, the clock stands still at 2026-01-01T00:00:00\.000Z; POST /)
  expect(second.out).toContain('curl -H "Authorization: Bearer $KEY"')
  expect(tokenOf(first)).toBeDefined()
  expect(tokenOf(second)).not.toBe(tokenOf(first))
})

test('emulator prints accounts and webhooks of a seed file, and warns about short secrets and unknown wallets', async () => {
  await using dir = await createTempDir()
  const seedFile = `world: { seed: mine, history: 2h }
controlToken: control-token-of-mine
accounts:
  - name: desk
    keys: [{ name: a, key: sk_key-of-mine-0001, scopes: all }]
    webhooks: [{ url: 'http://127.0.0.1:9/x', events: [pump.graduation], secret: whsec_0123456789 }]
tracked: [{ network: base, wallet: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }]
`
  await writeFile(join(dir.path, 'seed.yaml'), seedFile)
  await writeFile(join(dir.path, 'secret'), 'short')
  const added = ['--webhook', 'http://127.0.0.1:9/y', '--secret', '@secret']
  const { out, errors } = await outputOf(dir, ['--seed-file', 'seed.yaml', ...added])
  expect(out).toMatch(/ {2}api keys +as in the seed file\n {2}control token +as in the seed file\n/)
  expect(out).toMatch(/ {2}accounts +desk \(free, key a\)\n/)
  expect(out).toMatch(
    / {2}webhooks +http:\/\/127\.0\.0\.1:9\/x → pump\.graduation; http:\/\/127\.0\.0\.1:9\/y → all events\n/,
  )
  expect(errors.trim().split('\n')).toEqual([
    expect.stringMatching(/^warning: --secret has 5 characters; .* 16 or more$/),
    expect.stringMatching(
      /^warning: tracked wallets that never traded in this world: 0x5aAeb\w+ \(base\); .*world\/wallets/,
    ),
  ])
})
