import { expect, test } from 'vitest'
import { errorGroupOf } from '../../src/inbox/error-group.ts'

test('a group is valid in a URL, also if its text was cut', () => {
  for (let length = 180; length < 200; length++) {
    const group = errorGroupOf({ name: 'Error', message: `${'- '.repeat(100).slice(0, length)}😀` })
    expect(() => encodeURIComponent(group)).not.toThrow()
    expect(group.length).toBeLessThanOrEqual(200)
  }
  expect(() => encodeURIComponent(errorGroupOf({ name: 'Error', message: 'half \ud800' }))).not.toThrow()
})
