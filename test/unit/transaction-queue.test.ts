import { expect, test } from 'vitest'
import { createTransactionQueue } from '../../src/inbox/postgres/transaction-queue.ts'

/** A queue whose transactions fail if they hold `!`. */
function openQueue() {
  const transactions: string[] = []
  const queue = createTransactionQueue<string, string>({
    async commit(items) {
      transactions.push(items.join(''))
      await new Promise(setImmediate)
      if (items.includes('!')) throw new TypeError('bad value')
      return items.map((item) => item.toUpperCase())
    },
    bytesOf: () => 1,
  })
  /** Adds a call per letter. Resolves with the results; a failed call gives `-`. */
  const add = async (text: string) => {
    const results = await Promise.allSettled(text.split('').map((item) => queue.add([item])))
    return results.map((result) => (result.status === 'fulfilled' ? result.value.join('') : '-')).join('')
  }
  return { transactions, add }
}

test('calls that arrive during a transaction go into the next one, in order', async () => {
  const { transactions, add } = openQueue()
  expect(await add('abc')).toBe('ABC')
  expect(transactions).toEqual(['a', 'bc'])
})

test('an error that is not from the database fails only its call', async () => {
  const { transactions, add } = openQueue()
  expect(await add('ab!c')).toBe('AB-C')
  expect(transactions).toEqual(['a', 'b!c', 'b', '!', 'c'])
})

test('a slow transaction delays no others', async () => {
  const slow = Promise.withResolvers<void>()
  const queue = createTransactionQueue<string, string>({
    async commit(items) {
      if (items.includes('slow')) await slow.promise
      return items
    },
    bytesOf: () => 1,
    patienceMs: 1,
  })
  const ended: string[] = []
  void queue.add(['slow']).then(() => ended.push('slow'))
  expect(await queue.add(['a'])).toEqual(['a'])
  const flushed = queue.flushed()
  slow.resolve()
  await flushed
  expect(ended).toEqual(['slow'])
})
