import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventExamples } from '../../schema/event-notes.ts'
import { eventTypes } from '../../schema/index.ts'
import { isFoundBy } from '../../src/inbox/insight/event-text.ts'
import { readForIndex } from '../../src/inbox/insight/read.ts'
import { haveAll, splitWords, wordsAsked } from '../../src/inbox/insight/words.ts'
import { createIndexReads } from '../../src/inbox/sqlite/index/reads.ts'
import { openMemoryIndex } from '../../src/inbox/sqlite/index/file.ts'
import { createShards } from '../../src/inbox/sqlite/index/shards.ts'
import { matchOf, textOf } from '../../src/inbox/sqlite/index/terms.ts'
import { counts } from '../counts.ts'

const numRuns = counts.indexFuzzRuns

/** Text with all that has a meaning to a full-text search, a tokenizer, or a terminal. */
const strange = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.constantFrom(
        '"',
        '*',
        'AND',
        'OR',
        'NOT',
        'NEAR(',
        ')',
        'words',
        ':',
        '^',
        '-',
        '+',
        '{',
        '}',
        '\0',
        "'",
        'ab',
        'AB',
        '0x1',
        'é',
        'e\u0301',
        'ß',
        'İ',
        '\ue000t',
        '\ud800',
        '漢',
        '\u0130x',
        ' ',
        ',',
      ),
    ) // prettier-ignore
    .map((parts) => parts.join('')),
)

describe('readForIndex', () => {
  const known = fc.record({ id: fc.string(), type: fc.oneof(fc.constantFrom(...eventTypes), strange) })

  test('reads any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), known, (raw, event) => {
        const { words, drift } = readForIndex(raw, event)
        expect(words.every((word) => word !== '' && word.length <= 128)).toBe(true)
        expect(drift.length).toBeLessThanOrEqual(20)
      }),
      { numRuns },
    )
  })

  test('reads any JSON, and tells what differs in bounded, safe text', () => {
    const safe = /^[^\p{Cc}\p{Cf}\p{Cs}]*$/u
    fc.assert(
      fc.property(
        fc.constantFrom(...eventTypes),
        fc.jsonValue(),
        fc.object({ withBigInt: false }),
        (type, any, data) => {
          const example = eventExamples[type] as { readonly data: object }
          for (const envelope of [
            any,
            { ...example, data },
            { ...example, data: { ...example.data, ...data, network: any } },
          ]) {
            const { drift } = readForIndex(Buffer.from(JSON.stringify(envelope) ?? ''), { id: 'x', type })
            for (const { path, example: shown, expected } of drift) {
              for (const text of [path, shown, expected]) expect(text).toMatch(safe)
              expect(Math.max(path.length, shown.length)).toBeLessThanOrEqual(200)
            }
          }
        },
      ),
      { numRuns },
    )
  })

  test('is not overcome by what is deep or large', () => {
    const event = { id: 'id1', type: 'wallet.large_trade' }
    const ownWords = ['id1', 'wallet', 'large', 'trade']
    const deep = Buffer.from(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
    expect(readForIndex(deep, event).words).toEqual(ownWords)
    expect(readForIndex(deep, event).drift).toEqual([])
    const deepData = Buffer.from(`{"data":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`)
    expect(readForIndex(deepData, event).drift.map(({ path }) => path)).toContain('data.a')
    const large = Buffer.from(JSON.stringify({ a: 'word '.repeat(200_000), b: 'behind' }))
    expect(readForIndex(large, event).words.slice(0, 5)).toEqual([...ownWords, 'word'])
    expect(readForIndex(large, event).words).not.toContain('behind')
    const long = Buffer.from(JSON.stringify({ a: 'x'.repeat(1_000) }))
    expect(readForIndex(long, event).words.at(-1)).toBe('x'.repeat(128))
    const many = Buffer.from(
      JSON.stringify({ data: Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, n])) }),
    )
    expect(readForIndex(many, event).drift).toHaveLength(20)
  })

  test('finds no drift in the documented examples, nor in events of our own', () => {
    for (const [type, example] of Object.entries(eventExamples)) {
      expect(readForIndex(Buffer.from(JSON.stringify(example)), { id: 'x', type }).drift, type).toEqual([])
    }
    expect(readForIndex(Buffer.from('{"any":1}'), { id: 'x', type: 'inbox.warning' }).drift).toEqual([])
  })

  test.each([
    ['{"amount_usd":1e999}', 'out_of_range', 'data.amount_usd', 'a number'],
    ['{"network":"moonbeam"}', 'out_of_range', 'data.network', 'one of ethereum, bnb, solana'],
    ['{"tx_hash":null}', 'wrong_type', 'data.tx_hash', 'text'],
    ['{"added":[1]}', 'new_field', 'data.added', 'no such field'],
  ])('%s is %s at %s', (changes, kind, path, expected) => {
    const example = eventExamples['wallet.large_trade'] as { readonly data: object }
    const data = `${JSON.stringify(example.data).slice(0, -1)},${changes.slice(1)}`
    const raw = Buffer.from(`{"id":"x","type":"wallet.large_trade","created_at":"2026-01-01T00:00:00Z","data":${data}}`)
    const { drift } = readForIndex(raw, { id: 'x', type: 'wallet.large_trade' })
    expect(drift).toMatchObject([{ kind, path, expected: expect.stringContaining(expected) }])
  })

  test('tells what is missing, and of lists what is in them', () => {
    const example = eventExamples['token.risk_change'] as { readonly data: object }
    const data = { ...example.data, triggered_checks: ['a', 1, 2], current_risk_score: 1.5, symbol: undefined }
    const { drift } = readForIndex(Buffer.from(JSON.stringify({ ...example, data })), {
      id: 'x',
      type: 'token.risk_change',
    })
    expect(drift).toEqual([
      { kind: 'missing_field', path: 'data.symbol', expected: 'text', example: 'nothing' },
      { kind: 'wrong_type', path: 'data.current_risk_score', expected: 'a whole number', example: '1.5' },
      { kind: 'wrong_type', path: 'data.triggered_checks[]', expected: 'text', example: '1' },
    ])
  })
})

describe('a search', () => {
  test('finds in the full-text table what it finds in the words themselves, whatever is asked', () => {
    const index = openMemoryIndex()
    const shards = createShards(index)
    const reads = createIndexReads(index)
    fc.assert(
      fc.property(
        fc.array(strange, { minLength: 1, maxLength: 6 }),
        fc.array(strange, { maxLength: 4 }),
        (texts, asked) => {
          const all = texts.map((text) => [...new Set(splitWords(text))])
          all.forEach((words, n) => shards.put(n + 1, textOf(words, { type: texts[n], network: null })))
          // Begins of what is there, as well as anything.
          const begins = all.flatMap((words) => words.slice(0, 1).map((word) => Array.from(word).slice(0, 2).join('')))
          for (const q of [...asked, ...texts, ...begins]) {
            const match = matchOf({ q })
            const found = match === null ? [] : [...reads.search(match, 100, 1)].flatMap((step) => step.found ?? [])
            const words = wordsAsked(q)
            const expected = all.flatMap((own, n) => (words.length > 0 && haveAll(own, words) ? [n + 1] : []))
            expect(found, JSON.stringify(q)).toEqual(expected.toReversed())
            const ofType = [...reads.search(matchOf({ type: q }) ?? '', 100, 1)].flatMap((step) => step.found ?? [])
            expect(ofType).toEqual(texts.flatMap((text, n) => (text === q ? [n + 1] : [])).toReversed())
          }
          all.forEach((_, n) => shards.remove(n + 1))
        },
      ),
      { numRuns },
    )
    index.close()
  })

  test('of bodies one by one finds the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), strange, (value, q) => {
        const raw = Buffer.from(JSON.stringify(value))
        const known = { id: 'i', type: 't' }
        expect(isFoundBy(wordsAsked(q), raw, known)).toBe(haveAll(readForIndex(raw, known).words, wordsAsked(q)))
      }),
      { numRuns },
    )
  })
})
