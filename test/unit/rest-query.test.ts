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
  expect(parseQuery(target)).toEqual(values)
})

test.each([
  ['/v1/x?limit=1&limit=1', 'limit: expected only once'],
  ['/v1/x?__proto__=1&__proto__=2', '__proto__: expected only once'],
  ['/v1/x?q=%zz', 'URI malformed'],
  ['/v1/x?q=%ff', 'URI malformed'],
  ['/v1/x?%=1', 'URI malformed'],
])('rejects the query of %s', (target, message) => {
  expect(() => parseQuery(target)).toThrow(message)
})
