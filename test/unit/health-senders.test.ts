import { expect, test } from 'vitest'
import { defaultSender, describeSchedule } from '../../src/health/senders.ts'
import { undocumented, type Retries } from '../../src/sources/provider.ts'

test('R81–R86 describes the retry schedule of the default sender', () => {
  expect(describeSchedule(defaultSender)).toBe(
    'The sender retries a failed delivery 1 min, 5 min, 30 min, 2 h and 8 h after the previous failure. ' +
      'It drops the event when the sixth attempt fails, 10 h 36 min after the first.',
  )
})

test.each<[Partial<Retries>, RegExp]>([
  [{ delaysMs: [60_000, 600_000] }, /2 times within 11 min/],
  [{ windowMs: 3_600_000 }, /a failed delivery within 1 h/],
  [{ delaysMs: [] }, /^The sender never retries.$/],
  [{ maxAttempts: 5 }, /^The sender makes up to 5 attempts. When it makes them is not documented.$/],
  [{}, /not documented, or set at the sender/],
])('describes the schedule of another sender as far as it is documented: %j', (retries, text) => {
  const sender = { ...defaultSender, source: 'desk', retries: { ...undocumented, ...retries } }
  expect(describeSchedule(sender)).toMatch(text)
})
