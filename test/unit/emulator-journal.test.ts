import { expect, test } from 'vitest'
import { type RestExchange, createJournal } from '../../src/emulator/rest/journal.ts'

const at = Date.UTC(2026, 0, 1)

function exchange(changes: Partial<RestExchange> = {}): RestExchange {
  return {
    requestId: 'req_1',
    at,
    method: 'GET',
    path: '/v1/networks',
    status: 200,
    keyId: 'key_a',
    accountId: 'acct_a',
    latencyMs: 1,
    error: null,
    ...changes,
  }
}

test('each part of a filter must hold', () => {
  const journal = createJournal(100)
  journal.add(exchange())
  journal.add(exchange({ method: 'POST', path: '/v1/alerts', status: 201 }))
  journal.add(exchange({ path: '/v1/wallets/0xabc', status: 404, keyId: 'key_b', at: at + 1000 }))
  journal.add(exchange({ path: '/v1/wallets/0xabc/pnl', status: 403, keyId: null, at: at + 2000 }))
  const seqs = (filter: Partial<Parameters<typeof journal.find>[0]>) =>
    journal.find({ limit: 100, ...filter }).map(({ seq }) => seq)
  expect(seqs({})).toEqual([1, 2, 3, 4])
  expect(seqs({ method: 'post' })).toEqual([2])
  expect(seqs({ path: '/v1/wallets/0xabc' })).toEqual([3])
  expect(seqs({ path: '/v1/wallets/*' })).toEqual([3, 4])
  expect(seqs({ status: '404' })).toEqual([3])
  expect(seqs({ status: '4xx' })).toEqual([3, 4])
  expect(seqs({ key: 'key_b' })).toEqual([3])
  expect(seqs({ since: at + 1000 })).toEqual([3, 4])
  expect(seqs({ after: 3 })).toEqual([4])
  expect(seqs({ status: '4xx', path: '/v1/wallets/*', since: at + 1001 })).toEqual([4])
})

test('keeps the newest entries and returns the newest matches', () => {
  const journal = createJournal(10)
  for (let n = 1; n <= 35; n++) journal.add(exchange())
  expect(journal.find({ limit: 100 }).map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, n) => 26 + n))
  expect(journal.find({ limit: 2 }).map(({ seq }) => seq)).toEqual([34, 35])
})
