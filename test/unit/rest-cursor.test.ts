import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPages } from '../../src/emulator/rest/pages.ts'

const asOf = { at: Date.UTC(2026, 0, 1), seq: 7 }
const pagesOf = (secret: string) => createPages({ secret, epoch: () => 0 })
const pages = pagesOf('secret of this world')
const ask = (cursor: string | undefined, q = 'list', from = pages) =>
  from.readRequested('searchTokens', { params: {}, query: { q, limit: 20, cursor } }, { accountId: 'acct_1' })
const cursorOf = (after: number | string, moment = asOf, q = 'list') =>
  pages.nextCursor({ ...ask(undefined, q), asOf: moment }, after) ?? ''
const foreign = /expected the meta\.next_cursor of a page of this service/

test('A58 a cursor restores its position, for its own list only', () => {
  const moment = fc.record({ at: fc.maxSafeNat(), seq: fc.maxSafeNat() })
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeNat(), fc.string()), moment, fc.string(), fc.string(), (after, at, list, other) => {
      const cursor = cursorOf(after, at, list)
      expect(cursor).toMatch(/^[\w-]+$/)
      expect(ask(cursor, list)).toMatchObject({ limit: 20, after, asOf: at })
      if (other !== list) expect(() => ask(cursor, other)).toThrow(/expected a cursor of this list/)
    }),
  )
})

test('A58 rejects a changed, cut or foreign cursor and any other text', () => {
  const cursor = cursorOf(42)
  const places = [0, 1, 15, 16, 17, 40, cursor.length - 2, cursor.length - 1]
  const changes = [
    ...places.map((at) => cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)),
    ...places.map((at) => cursor.slice(0, at)),
    `${cursor}A`,
    `${cursor}=`,
    ` ${cursor}`,
  ]
  for (const changed of changes) expect(() => ask(changed), changed).toThrow(foreign)
  expect(() => ask(cursor, 'list', pagesOf('secret of another world'))).toThrow(foreign)
  for (const text of ['', 'a', '💥', 'A'.repeat(200)]) expect(() => ask(text), text).toThrow(foreign)
})
