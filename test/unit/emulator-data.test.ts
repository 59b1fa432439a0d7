import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AccountsState } from '../../src/emulator/accounts/port.ts'
import { openDataFile, type DataFile } from '../../src/emulator/data/data-file.ts'
import type { SavedState } from '../../src/emulator/data/saved-states.ts'
import { rowsPerPortion, type TradePortion } from '../../src/emulator/world/trade-log.ts'
import { createTempDir } from '../support/temp-dir.ts'

const startAt = Date.UTC(2026, 0, 1)
const account = { accountId: 'acct_a', name: 'desk', plan: 'pro', alertSecret: 'whsec_alerts' } as const
const none: AccountsState = { accounts: [], keys: [], webhooks: [], alerts: [] }
const one: AccountsState = { ...none, accounts: [account] }
const act = { kind: 'remove-alert', alertId: 'alrt_a' } as const
const story = { kind: 'story', story: 'scam' } as const

function open(dir: string): DataFile {
  const identity = { seed: 'test', settings: {}, contents: 'digest' }
  return openDataFile({ file: join(dir, 'emulator.db'), identity, startAt, randomBytes, leadMs: () => 5_000 })
}

function trades(count: number, first = 1): TradePortion {
  return Array.from({ length: count }, (_, index) => `${first + index},${startAt},0`)
}

function inPortions(rows: TradePortion): readonly TradePortion[] {
  const count = Math.ceil(rows.length / rowsPerPortion)
  return Array.from({ length: count }, (_, index) => rows.slice(index * rowsPerPortion, (index + 1) * rowsPerPortion))
}

function state(name: string, log: TradePortion = [], accounts = none): SavedState {
  return { at: startAt, accounts, world: { state: Buffer.from(name), trades: inPortions(log) } }
}

test('a dropped command leaves neither itself nor its change of accounts', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.checkpoint(state('begun'))
  const kept = data.append(startAt, story)
  const refused = data.append(startAt + 1, act, one)
  expect(data.previousRun()).toMatchObject({ accounts: one, commands: [{ command: story }, { command: act }] })
  data.drop(refused, none)
  expect(data.previousRun()).toMatchObject({ accounts: none, commands: [{ at: startAt, command: story }] })
  expect(kept).toBeLessThan(refused)
  data.close()
})

test('a checkpoint replaces the commands before it', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.append(startAt, story)
  data.checkpoint(state('later', trades(3), one))
  data.append(startAt + 5, act)
  data.close()
  const again = open(dir.path)
  expect(again.previousRun()).toMatchObject({ accounts: one, commands: [{ at: startAt + 5, command: act }] })
  expect(again.previousRun()?.checkpoint).toEqual(state('later', trades(3), one))
  again.close()
})

test('an incomplete world is deleted at the next start', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.save(one)
  data.append(startAt, story)
  data.close()
  const again = open(dir.path)
  expect(again.previousRun()).toBeNull()
  again.checkpoint(state('begun'))
  expect(again.previousRun()).toMatchObject({ accounts: none, commands: [] })
  again.close()
})

test('the reached moment runs ahead of the world; a stop records the exact one', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.checkpoint(state('begun'))
  const reached = () => (data.previousRun()?.reachedAt ?? 0) - startAt
  data.reach(startAt + 1)
  expect(reached()).toBe(5_001)
  data.reach(startAt + 5_001)
  expect(reached()).toBe(5_001)
  data.reach(startAt + 5_002)
  expect(reached()).toBe(10_002)
  data.stand(startAt + 6_000)
  expect(reached()).toBe(6_000)
  data.close()
})

test('saved states with common trades are restored as saved, also after a restart', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  const all = trades(25_000)
  const other = [...all.slice(0, 10_000), ...trades(12_000, 50_000)]
  data.states.put('early', state('early', all.slice(0, 15_000)))
  data.states.put('late', state('late', all))
  data.states.put('other', state('other', other))
  data.states.put('other', state('other again', other))
  data.checkpoint(state('latest', all))
  data.close()
  const again = open(dir.path)
  expect(again.states.get('early')).toEqual(state('early', all.slice(0, 15_000)))
  expect(again.states.get('other')).toEqual(state('other again', other))
  expect(again.states.get('none')).toBeNull()
  expect(again.states.list().map(({ name }) => name)).toEqual(['early', 'late', 'other'])
  expect([again.states.remove('early'), again.states.remove('early')]).toEqual([true, false])
  const late = again.states.get('late')!
  expect(late).toEqual(state('late', all))
  again.replace(late)
  again.states.remove('late')
  expect(again.previousRun()?.checkpoint).toEqual(state('late', all))
  expect(again.epoch()).toBe(1)
  again.close()
})
