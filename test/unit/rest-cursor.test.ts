import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCursors } from '../../src/emulator/rest/pages.ts'

const cursors = createCursors('the secret of this world')
const position = { after: 42, asOf: { at: Date.UTC(2026, 0, 1), seq: 7 } }

test('A58 a cursor brings back its position, for the list it was made for', () => {
  const positions = fc.record({
    after: fc.oneof(fc.maxSafeNat(), fc.string()),
    asOf: fc.record({ at: fc.maxSafeNat(), seq: fc.maxSafeNat() }),
  })
  fc.assert(
    fc.property(positions, fc.string(), fc.string(), (given, list, other) => {
      const cursor = cursors.encode(given, list)
      expect(cursor).toMatch(/^[\w-]+$/)
      expect(cursors.decode(cursor, list)).toEqual({ ok: true, position: given })
      if (other !== list) expect(cursors.decode(cursor, other)).toEqual({ ok: false, reason: 'other-list' })
    }),
  )
})

test('A58 a cursor with any letter changed, added or cut off is refused', () => {
  const cursor = cursors.encode(position, 'list')
  const changes = [
    ...Array.from(cursor, (letter, i) => cursor.slice(0, i) + (letter === 'A' ? 'B' : 'A') + cursor.slice(i + 1)),
    ...Array.from(cursor, (_letter, i) => cursor.slice(0, i)),
    `${cursor}A`,
    `${cursor}=`,
    ` ${cursor}`,
  ]
  for (const changed of changes) {
    expect(cursors.decode(changed, 'list'), changed).toEqual({ ok: false, reason: 'foreign' })
  }
})

test('A58 a cursor of a world with another secret is refused', () => {
  const foreign = createCursors('the secret of another world').encode(position, 'list')
  expect(cursors.decode(foreign, 'list')).toEqual({ ok: false, reason: 'foreign' })
})

test('A58 whatever text comes as a cursor, it is refused and nothing is thrown', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String()), (text) => {
      expect(cursors.decode(text, 'list')).toEqual({ ok: false, reason: 'foreign' })
    }),
  )
})
