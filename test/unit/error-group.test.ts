import { expect, test } from 'vitest'
import { errorGroupOf, frameOf } from '../../src/inbox/error-group.ts'

test('a group is valid in a URL, also if its text was cut', () => {
  for (let length = 180; length < 200; length++) {
    const group = errorGroupOf({ name: 'Error', message: `${'- '.repeat(100).slice(0, length)}😀` })
    expect(() => encodeURIComponent(group)).not.toThrow()
    expect(group.length).toBeLessThanOrEqual(200)
  }
  expect(() => encodeURIComponent(errorGroupOf({ name: 'Error', message: 'half \ud800' }))).not.toThrow()
})

const topFrame = (line: string) =>
  frameOf(errorGroupOf({ name: 'Error', message: 'at 1:2', stack: `Error: at 1:2\n${line}` }))

test.each([
  ['    at run (file:///srv/app/handlers/ledger.ts:12:9)', 'at run (handlers/ledger.ts:12:9)'],
  ['    at async /srv/my app/ledger.ts:12:9', 'at async my app/ledger.ts:12:9'],
  ['    at node:internal/x (node:internal/a/b:1:2)\n    at run (/a/b/c.ts:1:2)', 'at run (b/c.ts:1:2)'],
  ['    at new Client (/app/node_modules/pg/client.js:3:4)', null],
  [`    at run (/${'x'.repeat(200)}/a.ts:1:2)`, null],
  ['', null],
])('the top frame of %j in a group is %j', (line, frame) => {
  expect(topFrame(line)).toBe(frame)
})
