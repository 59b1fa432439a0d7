import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTempDir } from '../support/temp-dir.ts'
import { expect, test } from 'vitest'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { builtInSeed, parseSeedFile, readSeedFile } from '../../src/emulator/seed/parse-seed.ts'

const whole = `
world:
  seed: my-desk
  startAt: 2026-01-31T12:00:00Z
  history: 90m
  activity: 2.5
  pnlMode: disposals
clock: { mode: scaled, speed: 60 }
settings: { limit: clamp, omitNextCursor: true }
controlToken: control-token-of-mine
accounts:
  - name: desk
    plan: elite
    alertSecret: whsec_alerts-of-the-desk
    priceAlerts: 3
    keys:
      - { name: all, scopes: all, key: sk_0123456789abcdef }
      - { name: drawn, scopes: ['read:wallets'] }
    webhooks:
      - { url: 'https://example.com/hook', events: ['*'], secret: mine-of-16-chars }
      - { url: 'http://127.0.0.1:8080/webhooks', events: [token.price_alert, pump.graduation] }
    alerts:
      - { type: price_above, network: ethereum, address: '0x6982508145454ce325ddbe47a25d4ec3d2311933',
          threshold: 2, webhookUrl: 'https://example.com/', label: two }
tracked:
  - { network: solana, wallet: 7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU }
  - { network: base, wallet: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed' }
thresholds: { largeTradeUsd: 25000, milestonesUsd: [1000, 5000] }
networks: { solana: degraded, base: maintenance }
stories: [scam, launch]
`

test('A34 reads all settings of a seed file; addresses become canonical', () => {
  expect(parseSeedFile(whole, 'seed.yaml')).toMatchObject({
    world: {
      seed: 'my-desk',
      startAt: Date.UTC(2026, 0, 31, 12),
      history: 90 * 60_000,
      activity: 2.5,
      pnlMode: 'disposals',
      graduationAlsoLists: true,
    },
    clock: { mode: 'scaled', speed: 60 },
    settings: { limit: 'clamp', omitNextCursor: true, tradesOrder: 'newest' },
    accounts: [
      {
        plan: 'elite',
        keys: [
          { key: 'sk_0123456789abcdef', scopes: ['read:wallets', 'write:alerts', 'read:tokens', 'write:webhooks'] },
          {},
        ],
        webhooks: [{ secret: 'mine-of-16-chars' }, { events: ['token.price_alert', 'pump.graduation'] }],
        alerts: [{ address: '0x6982508145454Ce325dDbE47a25d4ec3d2311933', label: 'two' }],
      },
    ],
    tracked: [{ network: 'solana' }, { wallet: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }],
    networks: { solana: 'degraded', base: 'maintenance' },
  })
})

test('reports all problems at once, each with line and path, in order, without the values', () => {
  const text = `world:
  histroy: 24h
  activity: -1
clock:
  mode: fast
accounts:
  - name: desk
    plan: gold
    keys:
      - name: k
        key: short-secret
        scopes: [read:everything]
    webhooks:
      - url: http://inbox.example.com/
        events: []
tracked:
  - network: ethereum
    wallet: 7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU
networks:
  mars: operational
`
  const error = messageOf(() => parseSeedFile(text, 'seed.yaml'))
  expect(error.split('\n')).toEqual([
    'seed.yaml has errors:',
    '  line 2: world.histroy: unknown setting; check the spelling',
    '  line 3: world.activity: expected a number of at least 0',
    '  line 5: clock.mode: expected one of real, scaled, manual',
    '  line 8: accounts.0.plan: expected one of free, standard, pro, elite, unlimited',
    expect.stringContaining('line 11: accounts.0.keys.0.key: expected 16 to 256 visible ASCII characters'),
    '  line 12: accounts.0.keys.0.scopes: expected "all" or a list of read:wallets, write:alerts, read:tokens, write:webhooks',
    expect.stringContaining('line 14: accounts.0.webhooks.0.url: expected an https URL'),
    expect.stringContaining('line 15: accounts.0.webhooks.0.events: expected at least one type name'),
    expect.stringContaining('line 18: tracked.0.wallet: expected 0x and 40 hex digits'),
    '  line 20: networks.mars: unknown setting; check the spelling',
  ])
  expect(error).not.toContain('short-secret')
})

test.each([
  ['worl:\n  seed: a\nclock: {}', 'line 1: worl: unknown setting; check the spelling'],
  ['- world', 'line 1: seed: expected an object (name: value)'],
  [
    'tracked:\n  - network: base\n    wallet: 0x46339A68Cee72e8F81D153A34527F826E14BCec5',
    'line 3: tracked.0.wallet: expected an address in quotes',
  ],
  ['accounts:\n  - plan: pro', 'line 2: accounts.0.name: expected text'],
  ['thresholds: { largeTradeUsd: 0 }', 'thresholds.largeTradeUsd: expected a number above 0'],
  ['settings: { v1DeprecatedOn: soon }', 'settings.v1DeprecatedOn: expected a day such as 2026-01-31'],
  ['world: {seed: a}\nworld: {seed: b}', 'line 2: Map keys must be unique'],
  ['accounts: [{ name: a }, { name: a }]', 'line 1: accounts.1.name: another account has this name'],
  [
    'accounts:\n  - name: a\n    keys:\n      - { name: b, key: sk_0123456789abcdef, scopes: all }\n' +
      '      - { name: c, key: sk_0123456789abcdef, scopes: all }',
    'line 5: accounts.0.keys.1.key: another key has this value',
  ],
  [
    'world: { history: 1 fortnight }',
    'world.history: expected a whole number and a unit: 90s, 15m, 24h or 7d, or 0; at most 366d',
  ],
  ['world: { startAt: yesterday }', 'world.startAt: expected a UTC time from 2000 to 2099, such as'],
])('rejects %j and names the line', (text, message) => {
  const error = messageOf(() => parseSeedFile(text, 'seed.yaml'))
  expect(error).toContain(message)
  expect(error).not.toMatch(/invalid|>=|<=|undefined/i)
})

test('rejects aliases that expand without bounds', () => {
  const lines = ['a: &a0 [x]', ...Array.from({ length: 12 }, (_, n) => `k${n}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`)]
  expect(messageOf(() => parseSeedFile(lines.join('\n'), 'seed.yaml'))).toMatch(/seed.yaml has errors/)
})

test('names an unreadable seed file', async () => {
  await using dir = await createTempDir()
  expect(messageOf(() => readSeedFile(join(dir.path, 'none.yaml')))).toMatch(/cannot read .*none\.yaml: ENOENT/)
  expect(messageOf(() => readSeedFile(dir.path))).toMatch(/must be a regular file/)
  const file = join(dir.path, 'seed.yaml')
  await writeFile(file, whole)
  expect(readSeedFile(file).world.seed).toBe('my-desk')
})

test('only the demo seed has the published credentials', () => {
  const demo = builtInSeed('demo')
  expect(demo.controlToken).toBe(demoCredentials.controlToken)
  expect(demo.accounts[0]?.keys[0]?.key).toBe(demoCredentials.apiKey)
  const other = builtInSeed('other')
  expect(JSON.stringify(other)).not.toMatch(/demo/)
  expect(other).toMatchObject({ world: { seed: 'other' }, accounts: [{ plan: 'pro', keys: [{ name: 'first' }] }] })
  expect([other.controlToken, other.accounts[0]?.keys[0]?.key]).toEqual([undefined, undefined])
})

function messageOf(fn: () => unknown): string {
  try {
    fn()
  } catch (error) {
    expect(error).toMatchObject({ code: 'config_invalid' })
    return (error as Error).message
  }
  throw new Error('expected an error')
}
