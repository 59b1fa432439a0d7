import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toEntries, toMessages, type Dialect } from '../../handlers/sinks/common/chat-text.ts'
import { createPacer } from '../../handlers/sinks/common/chat.ts'

/** Entries of 100 characters; `<` is written with four. */
const dialect: Dialect = {
  entryLimit: 100,
  messageLimit: 100,
  entriesPerMessage: 5,
  linksPerMessage: 3,
  escape: (character) => (character === '<' ? '&lt;' : character),
  link: (label, url) => `<${url}|${label}>`,
}
const written = (text: string) => toEntries([{ text }], dialect).map((entry) => entry.written)

describe('toEntries', () => {
  test('splits after white space, never inside an escape, a link or a surrogate pair', () => {
    expect(written(`${'x'.repeat(60)} ${'y'.repeat(60)}`)).toEqual([`${'x'.repeat(60)} `, 'y'.repeat(60)])
    expect(written(`${'x'.repeat(98)}<`)).toEqual(['x'.repeat(98), '&lt;'])
    expect(written(`${'x'.repeat(99)}😀`)).toEqual(['x'.repeat(99), '😀'])
    const link = { text: 'tx', url: 'https://etherscan.io/tx/0x1' }
    // After an early white space, the rest has no room for the link either.
    for (const text of ['x'.repeat(90), `\n${'x'.repeat(90)}`])
      expect(toEntries([{ text }, link], dialect)).toMatchObject([
        { written: text },
        { written: '<https://etherscan.io/tx/0x1|tx>' },
      ])
  })

  test('limits the links of an entry', () => {
    const link = { text: 'a', url: 'b' }
    expect(toEntries([link, link, link, link], dialect).map(({ links }) => links)).toEqual([3, 1])
  })

  test('cuts text above ten entries', () => {
    const entries = written('x'.repeat(100_000))
    expect(entries).toEqual([...Array<string>(9).fill('x'.repeat(100)), `${'x'.repeat(99)}…`])
  })

  test('keeps to the limit, and loses nothing', () => {
    const odd = fc.constantFrom('<', ' ', '\n', '\u202e', '\ud800', '😀', 'x'.repeat(30), '&lt;', 'é')
    fc.assert(
      fc.property(fc.array(fc.oneof(odd, fc.string({ maxLength: 20 })), { maxLength: 30 }), (words) => {
        const text = words.join('').toWellFormed()
        const entries = toEntries([{ text }], dialect)
        for (const entry of entries) {
          expect(entry.size).toBe(entry.written.length)
          expect(entry.size).toBeLessThanOrEqual(100)
          expect(entry.written.isWellFormed()).toBe(true)
          expect(entry.written).toMatch(/\S/)
        }
        const all = entries.map((entry) => entry.written).join('')
        if (!all.endsWith('…'))
          expect(all.replaceAll(/\s/g, '')).toBe(text.replaceAll('<', '&lt;').replaceAll(/\s/g, ''))
      }),
    )
  })
})

describe('toMessages', () => {
  const entry = (text: string, links = 0) => ({ written: text, size: text.length, links })

  test('joins entries in order until a message is full', () => {
    const entries = ['a', 'b', 'c'].map((letter) => entry(letter.repeat(40)))
    expect(toMessages(entries, dialect)).toEqual([entries.slice(0, 2), entries.slice(2)])
  })

  test.each([
    ['separators', [entry('x'.repeat(50)), entry('x'.repeat(49))], [2]],
    ['separators', [entry('x'.repeat(50)), entry('x'.repeat(50))], [1, 1]],
    ['entries', Array.from({ length: 6 }, () => entry('x')), [5, 1]],
    ['links', [entry('x', 2), entry('x', 1), entry('x', 1)], [2, 1]],
  ])('counts %s', (_what, entries, lengths) => {
    expect(toMessages(entries, dialect).map(({ length }) => length)).toEqual(lengths)
  })
})

test('createPacer keeps all limits over any period, and the longest pause', () => {
  let now = 0
  const pacer = createPacer(
    [
      { count: 2, ms: 100 },
      { count: 3, ms: 1_000 },
    ],
    { now: () => now },
  )
  const sentAt: number[] = []
  while (sentAt.length < 7) {
    const waitMs = pacer.waitMs()
    now += waitMs
    if (waitMs > 0) continue
    pacer.sent()
    sentAt.push(now)
  }
  expect(sentAt).toEqual([0, 0, 100, 1_000, 1_000, 1_100, 2_000])
  pacer.pause(5_000)
  pacer.pause(50)
  now += 4_900
  expect(pacer.waitMs()).toBe(100)
})
