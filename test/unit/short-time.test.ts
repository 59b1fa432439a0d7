import { expect, test } from 'vitest'
import { timeSeenFrom } from '../../src/cli/follow-deliveries.ts'

const lastSecond = Date.parse('2026-12-31T23:59:59.999Z')

test('shows a time with its date only on another day', () => {
  expect(timeSeenFrom(lastSecond, lastSecond - 1_000)).toBe('23:59:58')
  expect(timeSeenFrom(lastSecond, lastSecond + 1)).toBe('2027-01-01 00:00:00')
  expect(timeSeenFrom(lastSecond + 1, lastSecond)).toBe('2026-12-31 23:59:59')
})
