import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AccountsState } from '../../src/emulator/accounts/state.ts'
import { createMemoryArchive, type SavedState } from '../../src/emulator/data/archive.ts'
import { openDataFile, type DataFile } from '../../src/emulator/data/data-file.ts'
import { createWorldHolder, createWorldPacker } from '../../src/emulator/data/pack-world.ts'
import type { WorldSnapshot } from '../../src/emulator/world/port.ts'
import { createTempDir } from '../support/temp-dir.ts'

const startAt = Date.UTC(2026, 0, 1)
const account = { accountId: 'acct_a', name: 'desk', plan: 'pro', alertSecret: 'whsec_alerts' } as const
const alert = {
  alertId: 'alrt_a',
  accountId: 'acct_a',
  type: 'price_above',
  address: '0x6982508145454Ce325dDbE47a25d4ec3d2311933',
  network: 'ethereum',
  threshold: 2,
  webhookUrl: 'https://example.com/',
  label: null,
  status: 'active',
  createdAt: startAt,
} as const
const act = { kind: 'add-alert', ...alert } as const
const story = { kind: 'story', story: 'scam' } as const
const accounts: AccountsState = { accounts: [account], keys: [], webhooks: [], alerts: [] }

function open(dir: string): DataFile {
  const identity = { seed: 'test', settings: {}, contents: 'digest' }
  return openDataFile({ file: join(dir, 'emulator.db'), identity, startAt, randomBytes, leadMs: () => 5_000 })
}

function state(...digests: string[]): SavedState {
  const chunks = digests.map((digest) => ({
    key: digest,
    isFinal: true,
    digest,
    bytes: () => Buffer.from(`bytes of ${digest}`),
  }))
  return { at: startAt, accounts, core: Buffer.from('core'), chunks }
}

/** A state with the content of its chunks, to be compared. */
function contentOf(saved: SavedState | null | undefined) {
  return saved && { ...saved, chunks: saved.chunks.map((chunk) => ({ ...chunk, bytes: chunk.bytes() })) }
}

test('an act that was refused leaves neither itself nor what came with it', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.save({ kind: 'account', value: account })
  data.checkpoint(state(), data.lastAct())
  const kept = data.append(startAt, story)
  const refused = data.append(startAt + 1, act, { kind: 'alert', value: alert })
  expect(data.leftBehind()).toMatchObject({ accounts: { alerts: [alert] }, acts: [{ act: story }, { act }] })
  data.drop(refused, { kind: 'alert-removed', alertId: alert.alertId })
  expect(data.leftBehind()).toMatchObject({ accounts: { alerts: [] }, acts: [{ at: startAt, act: story }] })
  expect(kept).toBeLessThan(refused)
  data.close()
})

test('a checkpoint takes the place of the acts that are in it, and of no later one', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.append(startAt, story)
  const lastAct = data.lastAct()
  data.append(startAt + 5, act)
  data.checkpoint(state('a', 'b'), lastAct)
  data.close()
  const again = open(dir.path)
  expect(again.leftBehind()).toMatchObject({ acts: [{ at: startAt + 5, act }] })
  expect(contentOf(again.leftBehind()?.checkpoint)).toEqual(contentOf(state('a', 'b')))
  again.close()
})

test('a world that was never completed is forgotten at the next start', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.save({ kind: 'account', value: account })
  data.append(startAt, story)
  data.close()
  const again = open(dir.path)
  expect(again.leftBehind()).toBeNull()
  again.checkpoint(state(), again.lastAct())
  expect(again.leftBehind()).toMatchObject({ accounts: { accounts: [] }, acts: [] })
  again.close()
})

test('the moment that is noted runs ahead, so that no answer is ever later than it; a stop notes the exact one', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.checkpoint(state(), 0)
  const reached = () => (data.leftBehind()?.reachedAt ?? 0) - startAt
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

test('saved states share what they have in common, and what no state has is gone', async () => {
  await using dir = await createTempDir()
  const data = open(dir.path)
  data.archive.put('one', state('a', 'b'))
  data.checkpoint(state('a', 'c'), 0)
  data.archive.put('one', state('a'))
  expect(contentOf(data.archive.get('one'))).toEqual(contentOf(state('a')))
  expect(data.archive.get('two')).toBeNull()
  expect(data.archive.list()).toEqual([{ name: 'one', at: startAt }])
  expect(contentOf(data.leftBehind()?.checkpoint)).toEqual(contentOf(state('a', 'c')))
  data.replace(state('a'))
  expect(data.leftBehind()?.accounts).toEqual(accounts)
  expect([data.archive.remove('one'), data.archive.remove('one'), data.archive.list()]).toEqual([true, false, []])
  expect(contentOf(data.leftBehind()?.checkpoint)).toEqual(contentOf(state('a')))
  data.close()
})

test('an archive in memory gives back what was put, the newest under a name', () => {
  const archive = createMemoryArchive()
  archive.put('one', state('a'))
  archive.put('two', state('b'))
  archive.put('one', state('c'))
  expect(contentOf(archive.get('one'))).toEqual(contentOf(state('c')))
  expect(archive.get('none')).toBeNull()
  expect([archive.remove('none'), archive.remove('two'), archive.get('two')]).toEqual([false, true, null])
  archive.put('two', state('b'))
  archive.put('one', state('c'))
  expect(archive.list().map(({ name }) => name)).toEqual(['two', 'one'])
})

test('what never changes again is packed once, and unpacked as it was', async () => {
  let packed = 0
  let restored: WorldSnapshot | undefined
  const chunk = (key: string, isFinal: boolean, text: string) => ({
    key,
    isFinal,
    bytes() {
      packed++
      return Buffer.from(text)
    },
  })
  const snapshots = [
    { core: Buffer.from('core 1'), chunks: [chunk('t-0', true, 'first'), chunk('t-1', false, 'sec')] },
    { core: Buffer.from('core 2'), chunks: [chunk('t-0', true, 'first'), chunk('t-1', true, 'second')] },
    { core: Buffer.from('core 3'), chunks: [chunk('t-0', true, 'other'), chunk('t-1', true, 'second')] },
  ].values()
  const packer = createWorldPacker({
    now: () => startAt,
    snapshot: () => snapshots.next().value ?? { core: Buffer.alloc(0), chunks: [] },
    restore: (snapshot) => void (restored = snapshot),
  })
  const one = await packer.take(accounts)
  expect(packed).toBe(2)
  const two = await packer.take(accounts)
  expect(packed).toBe(3)
  expect(one.chunks[0]?.digest).toBe(two.chunks[0]?.digest)
  packer.restore({ core: one.core, chunks: [] })
  expect(restored).toMatchObject({ core: Buffer.from('core 1'), chunks: [] })
  const three = await packer.take(accounts)
  expect(packed).toBe(5)
  packer.restore(three)
  expect(restored?.chunks.map((part) => [part.key, part.isFinal, Buffer.from(part.bytes()).toString()])).toEqual([
    ['t-0', true, 'other'],
    ['t-1', true, 'second'],
  ])
})

test('what never changes again is held in memory as it is, the rest as it was', async () => {
  let text = 'sec'
  let restored: WorldSnapshot | undefined
  const chunk = (key: string, isFinal: boolean, content: () => string) => ({
    key,
    isFinal,
    bytes: () => Buffer.from(content()),
  })
  const holder = createWorldHolder({
    now: () => startAt,
    snapshot: () => ({
      core: Buffer.from('core'),
      chunks: [chunk('t-0', true, () => 'first'), chunk('t-1', false, () => text)],
    }),
    restore: (snapshot) => void (restored = snapshot),
  })
  const held = await holder.take(accounts)
  text = 'second'
  holder.restore(held)
  expect(restored?.chunks.map(({ bytes }) => Buffer.from(bytes()).toString())).toEqual(['first', 'sec'])
})
