import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createProgress, toMessages, toParts, type Dialect } from '../../handlers/sinks/common/split.ts'
import { createPacer } from '../../handlers/sinks/common/chat.ts'

/** Parts of 100 characters; `<` is written with four. */
const dialect: Dialect = {
  partLimit: 100,
  limit: 100,
  partsPerMessage: 5,
  linksPerMessage: 3,
  escape: (character) => (character === '<' ? '&lt;' : character),
  link: (label, url) => `<${url}|${label}>`,
}
const written = (text: string) => toParts([{ text }], dialect).map((part) => part.written)
const part = (text: string, links = 0) => ({ written: text, size: text.length, links })

describe('toParts', () => {
  test('cuts after white space, never inside an escape, a link or a surrogate pair', () => {
    expect(written(`${'x'.repeat(60)} ${'y'.repeat(60)}`)).toEqual(['x'.repeat(60), 'y'.repeat(60)])
    expect(written(`${'x'.repeat(98)}<`)).toEqual(['x'.repeat(98), '&lt;'])
    expect(written(`${'x'.repeat(99)}😀`)).toEqual(['x'.repeat(99), '😀'])
    const link = { text: 'tx', url: 'https://etherscan.io/tx/0x1' }
    expect(toParts([{ text: 'x'.repeat(90) }, link], dialect).map((one) => one.written)).toEqual([
      'x'.repeat(90),
      '<https://etherscan.io/tx/0x1|tx>',
    ])
  })

  test('limits the links of a part', () => {
    const link = { text: 'a', url: 'b' }
    expect(toParts([link, link, link, link], dialect).map(({ links }) => links)).toEqual([3, 1])
  })

  test('notes the number of cut characters', () => {
    const parts = written('x'.repeat(100_000))
    expect(parts).toHaveLength(10)
    expect(parts.at(-1)).toMatch(/ … and \d+ characters more$/)
    const shown = parts.join('').match(/x/g)!.length
    expect(parts.at(-1)).toContain(` ${100_000 - shown} characters`)
  })

  test('keeps to the limit and loses nothing', () => {
    const odd = fc.constantFrom('<', ' ', '\n', '\u202e', '\ud800', '😀', 'x'.repeat(30), '&lt;', 'é')
    fc.assert(
      fc.property(fc.array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 20 })), { maxLength: 30 }), (words) => {
        const text = words.join('')
        const parts = toParts([{ text }], dialect)
        for (const one of parts) {
          expect(one.size).toBe(one.written.length)
          expect(one.size).toBeLessThanOrEqual(100)
          expect(one.written.isWellFormed()).toBe(true)
          expect(one.written).toMatch(/\S/)
        }
        const all = parts.map((one) => one.written).join('')
        if (/^…$| … and \d+ characters more$/.test(all)) return
        const plain = (one: string) => one.replaceAll('<', '&lt;').replaceAll(/\s/g, '').toWellFormed()
        expect(plain(all.replaceAll('&lt;', '<'))).toBe(plain(text.toWellFormed().replaceAll('&lt;', '<')))
      }),
    )
  })
})

describe('toMessages', () => {
  test('joins items in order until a message is full', () => {
    const items = ['a', 'b', 'c'].map((id) => ({ id, parts: [part(id.repeat(40))] }))
    expect(toMessages(items, dialect)).toEqual([
      { ids: ['a', 'b'], parts: ['a'.repeat(40), 'b'.repeat(40)], index: 0, isLast: true },
      { ids: ['c'], parts: ['c'.repeat(40)], index: 0, isLast: true },
    ])
  })

  test('counts separators, parts and links', () => {
    const ids = (...parts: ReturnType<typeof part>[]) =>
      toMessages(
        parts.map((one, index) => ({ id: String(index), parts: [one] })),
        dialect,
      ).map((message) => message.ids.length)
    expect(ids(part('x'.repeat(50)), part('x'.repeat(49)))).toEqual([2])
    expect(ids(part('x'.repeat(50)), part('x'.repeat(50)))).toEqual([1, 1])
    expect(ids(...Array.from({ length: 6 }, () => part('x')))).toEqual([5, 1])
    expect(ids(part('x', 2), part('x', 1), part('x', 1))).toEqual([2, 1])
  })

  test('sends an item with several parts in separate messages', () => {
    const long = { id: 'long', parts: [part('1'), part('2')] }
    const short = { id: 'short', parts: [part('3')] }
    expect(toMessages([short, long, short], dialect).map(({ ids, index, isLast }) => [...ids, index, isLast])).toEqual([
      ['short', 0, true],
      ['long', 0, false],
      ['long', 1, true],
      ['short', 0, true],
    ])
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

test('createProgress forgets the oldest items', () => {
  const progress = createProgress()
  for (let n = 0; n < 10_002; n++) progress.sent({ ids: [String(n)], index: 0, isLast: true })
  expect([progress.isSent('1'), progress.isSent('2'), progress.isSent('10001')]).toEqual([false, true, true])
  progress.sent({ ids: ['long'], index: 3, isLast: false })
  expect([progress.isSent('long'), progress.partsSent('long')]).toEqual([false, 4])
  progress.forget(['long'])
  expect(progress.partsSent('long')).toBe(0)
})
