import { expect, test } from 'vitest'
import { timeSeenFrom } from '../../src/cli/follow-deliveries.ts'

test('shows a time with its date only on another day', () => {
  expect(timeSeenFrom('2026-12-31T23:59:59.999Z', '2026-12-31T23:59:58.999Z')).toBe('23:59:58')
  expect(timeSeenFrom('2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z')).toBe('2027-01-01 00:00:00')
})
