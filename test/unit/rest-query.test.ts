import { expect, test } from 'vitest'
import { parseQuery } from '../../src/emulator/rest/input.ts'

test.each([
  ['/v1/x', {}],
  ['/v1/x?', {}],
  ['/v1/x?a', { a: '' }],
  ['/v1/x?&a=1&', { a: '1' }],
  ['/v1/x?a=1=2', { a: '1=2' }],
  ['/v1/x?a=1+2%2B', { a: '1 2+' }],
])('parses the query of %s', (target, values) => {
  expect(parseQuery(target)).toEqual({ ok: true, values })
})

test.each([
  ['/v1/x?limit=1&limit=1', 'limit', 'once'],
  ['/v1/x?__proto__=1&__proto__=2', '__proto__', 'once'],
  ['/v1/x?q=%zz', 'q', 'percent-encoding'],
  ['/v1/x?q=%ff', 'q', 'percent-encoding'],
  ['/v1/x?%=1', '%=1', 'percent-encoding'],
])('rejects the query of %s and names the parameter', (target, parameter, problem) => {
  const parsed = parseQuery(target)
  expect(parsed).toMatchObject({ ok: false, parameter, problem: expect.stringContaining(problem) })
})
