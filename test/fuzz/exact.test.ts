import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createExactReader } from '../../src/base/exact.ts'

const integer = fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,40}$/))
const fraction = fc.option(fc.stringMatching(/^\.[0-9]{1,30}$/), { nil: '' })
const exponent = fc.option(fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/), { nil: '' })
const numberText = fc.tuple(fc.constantFrom('', '-'), integer, fraction, exponent).map((parts) => parts.join(''))
const space = fc.stringMatching(/^[ \t\n]{0,2}$/)
const key = fc.oneof(
  fc.string(),
  fc.constantFrom('__proto__', 'constructor', 'length', 'toString', 'source', '', '0', 'a.b', '.', 'a'),
)

describe('createExactReader', () => {
  it('returns every number as written, at any depth', () => {
    fc.assert(
      fc.property(numberText, fc.array(key, { minLength: 1, maxLength: 5 }), space, (text, keys, gap) => {
        const json = keys.reduceRight((inner, name) => `{${gap}${JSON.stringify(name)}:${gap}${inner}}`, text)
        expect(createExactReader(json)(keys.join('.'))).toBe(text)
      }),
    )
  })

  it('finds the same scalars as JSON.parse', () => {
    const plainKey = fc.stringMatching(/^[a-z_]{1,8}$/)
    const tree = fc.object({
      key: plainKey,
      values: [fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string(), fc.boolean(), fc.constant(null)],
    })
    fc.assert(
      fc.property(tree, (value) => {
        const json = JSON.stringify(value)
        const exact = createExactReader(json)
        const walk = (node: unknown, path: readonly string[]): void => {
          if (typeof node === 'object' && node !== null) {
            for (const [name, child] of Object.entries(node)) walk(child, [...path, name])
            if (path.length > 0) expect(exact(path.join('.'))).toBeUndefined()
          } else {
            const text = typeof node === 'string' ? node : JSON.stringify(node)
            expect(exact(path.join('.'))).toBe(node === null ? undefined : text)
          }
        }
        walk(JSON.parse(json), [])
      }),
    )
  })

  it('never throws, for any path', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.oneof(
          fc.string(),
          fc.array(key).map((keys) => keys.join('.')),
        ),
        (json, path) => {
          const found = createExactReader(json)(path)
          expect(found === undefined || typeof found === 'string').toBe(true)
        },
      ),
    )
  })

  it('accepts array indexes as keys, but no other member of an array', () => {
    const exact = createExactReader('{"data":{"triggered_checks":["a",2.50]}}')
    const at = (rest: string) => exact(`data.triggered_checks.${rest}`)
    expect([at('0'), at('1'), at('2'), at('01'), at('-1'), at('length')]).toEqual([
      'a',
      '2.50',
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('splits at dots first, then tries keys that contain dots', () => {
    expect(createExactReader('{"a":{"b":1.0},"a.b":2.0}')('a.b')).toBe('1.0')
    expect(createExactReader('{"a":{"c":1.0},"a.b":2.0}')('a.b')).toBe('2.0')
    expect(createExactReader('{"a":{"b":{"d":1}},"a.b":{"c":2.0}}')('a.b.c')).toBe('2.0')
  })

  it('reads own members only', () => {
    const exact = createExactReader('{"data":{"text":"abc","n":1}}')
    for (const path of ['__proto__', 'data.constructor.name', 'data.text.length', 'data.n.text', 'toString', '']) {
      expect(exact(path)).toBeUndefined()
    }
    expect(createExactReader('{"__proto__":{"x":1.0},"constructor":"c"}')('__proto__.x')).toBe('1.0')
    expect(({} as { x?: unknown }).x).toBeUndefined()
    Object.defineProperty(Object.prototype, 'inherited', { value: 'text', configurable: true })
    try {
      expect(exact('data.inherited')).toBeUndefined()
    } finally {
      Reflect.deleteProperty(Object.prototype, 'inherited')
    }
  })

  it('uses the last of duplicate keys, like JSON.parse', () => {
    expect(createExactReader('{"a":1.0,"a":2.00}')('a')).toBe('2.00')
  })
})
