import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toEntry, toMessages, type Dialect } from '../../handlers/sinks/common/chat-text.ts'
import { createPacer } from '../../handlers/sinks/common/chat.ts'

/** Items of 100 characters; `<` is written with four. */
const dialect: Dialect = {
  itemLimit: 100,
  messageLimit: 100,
  itemsPerMessage: 5,
  linksPerMessage: 3,
  escape: (character) => (character === '<' ? '&lt;' : character),
  link: (label, url) => `<${url}|${label}>`,
}
const written = (text: string) => toEntry([{ text }], dialect).written

describe('toEntry', () => {
  test('cuts long text with an ellipsis, never inside an escape, a link or a surrogate pair', () => {
    expect(written('x'.repeat(99))).toBe('x'.repeat(99))
    expect(written('x'.repeat(100_000))).toBe(`${'x'.repeat(99)}…`)
    expect(written(`${'x'.repeat(97)}<`)).toBe(`${'x'.repeat(97)}…`)
    expect(written(`${'x'.repeat(98)}😀`)).toBe(`${'x'.repeat(98)}…`)
    const link = { text: 'tx', url: 'https://etherscan.io/tx/0x1' }
    expect(toEntry([{ text: 'x'.repeat(90) }, link], dialect).written).toBe(`${'x'.repeat(90)}…`)
  })

  test('limits the links of an item', () => {
    const link = { text: 'a', url: 'b' }
    expect(toEntry([link, link, link, link], dialect)).toMatchObject({ links: 3, written: `${'<b|a>'.repeat(3)}…` })
  })

  test('keeps to the limit, and loses nothing below it', () => {
    const odd = fc.constantFrom('<', ' ', '\n', '\u202e', '\ud800', '😀', 'x'.repeat(30), '&lt;', 'é')
    fc.assert(
      fc.property(fc.array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 20 })), { maxLength: 30 }), (words) => {
        const text = words.join('').toWellFormed()
        const entry = toEntry([{ text }], dialect)
        expect(entry.size).toBe(entry.written.length)
        expect(entry.size).toBeLessThanOrEqual(100)
        expect(entry.written.isWellFormed()).toBe(true)
        expect(entry.written).toMatch(/\S/)
        const whole = text.replaceAll('<', '&lt;')
        if (entry.written.endsWith('…')) expect(whole.startsWith(entry.written.slice(0, -1))).toBe(true)
        else expect(entry.written).toBe(whole)
      }),
    )
  })
})

describe('toMessages', () => {
  const entry = (text: string, links = 0) => ({ written: text, size: text.length, links })

  test('joins items in order until a message is full', () => {
    const entries = ['a', 'b', 'c'].map((letter) => entry(letter.repeat(40)))
    expect(toMessages(entries, dialect)).toEqual([entries.slice(0, 2), entries.slice(2)])
  })

  test.each([
    ['separators', [entry('x'.repeat(50)), entry('x'.repeat(49))], [2]],
    ['separators', [entry('x'.repeat(50)), entry('x'.repeat(50))], [1, 1]],
    ['items', Array.from({ length: 6 }, () => entry('x')), [5, 1]],
    ['links', [entry('x', 2), entry('x', 1), entry('x', 1)], [2, 1]],
  ])('counts %s', (_what, entries, lengths) => {
    expect(toMessages(entries, dialect).map(({ length }) => length)).toEqual(lengths)
  })
})

describe('createPacer', () => {
  test('keeps all limits over any period', () => {
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
  })

  test('keeps the longest hold', () => {
    let now = 0
    const pacer = createPacer([{ count: 1, ms: 100 }], { now: () => now })
    pacer.hold(500)
    pacer.hold(50)
    now = 400
    expect(pacer.waitMs()).toBe(100)
  })
})
