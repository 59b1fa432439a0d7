import { describe, expect, it } from 'vitest'
import { defineHandler, handlerDefaults } from '../../src/dispatch/define.ts'
import { parseDefinition } from '../../src/dispatch/parse-definition.ts'
import { InboxError } from '../../src/base/errors.ts'

const run = () => {}

function problemsOf(value: unknown, fallbackName = 'x'): InboxError {
  try {
    parseDefinition(value, '/handlers/x.ts', fallbackName)
  } catch (error) {
    if (error instanceof InboxError) return error
    throw error
  }
  throw new Error('the definition was accepted')
}

it('defineHandler returns its argument, frozen', () => {
  const definition = { type: 'pump.graduation', run } as const
  expect(defineHandler(definition)).toBe(definition)
  expect(Object.isFrozen(definition)).toBe(true)
})

describe('parseDefinition', () => {
  it('fills in the defaults', () => {
    const handler = parseDefinition(defineHandler({ type: 'pump.graduation', run }), '/handlers/x.ts', 'x')
    expect(handler).toEqual({
      kind: 'handler',
      name: 'x',
      types: ['pump.graduation'],
      order: 'key',
      keyPaths: undefined,
      concurrency: 8,
      batch: 1,
      priority: 0,
      timeoutMs: 30_000,
      retry: { attempts: 10, baseMs: 1000, capMs: 600_000 },
      onDead: 'skip',
      latestOnly: false,
      from: 'now',
      isolate: false,
      match: undefined,
      run: expect.any(Function),
      file: '/handlers/x.ts',
    })
    expect(handler).toMatchObject(handlerDefaults)
  })

  it('keeps the options of the definition', () => {
    const options = { name: 'mine', order: 'none', concurrency: 1, timeoutMs: 5 } as const
    const definition = { type: ['wallet.*', 'token.volume_spike', 'wallet.*'], run, ...options, retry: { attempts: 1 } }
    expect(parseDefinition(definition, 'f', 'x')).toMatchObject({
      ...options,
      types: ['wallet.*', 'token.volume_spike'],
      retry: { attempts: 1, baseMs: 1000, capMs: 600_000 },
    })
  })

  it.each([
    ['nothing', undefined, 'received no default export'],
    ['a bare function', run, 'received a function'],
    ['a list', [], 'received a list'],
  ])('refuses %s and shows an example', (_what, value, part) => {
    const error = problemsOf(value)
    expect(error.code).toBe('handler_invalid')
    expect(error.message).toContain('/handlers/x.ts')
    expect(error.message).toContain('export default defineHandler({ type, run })')
    expect(error.message).toContain(part)
  })

  it.each([
    ['no type', { run }, 'type: expected a type such as'],
    ['an empty list of types', { type: [], run }, 'type: expected a type such as'],
    ['a bad type in a list', { type: ['wallet.*', '*.x'], run }, 'type: expected a type such as'],
    ['no run', { type: '*' }, 'run: expected a function'],
    ['an unknown order', { type: '*', run, order: 'fifo' }, 'order: '],
    ['no concurrency', { type: '*', run, concurrency: 0 }, 'concurrency: '],
    ['a fraction of a timeout', { type: '*', run, timeoutMs: 1.5 }, 'timeoutMs: '],
    ['a timeout that no timer can keep', { type: '*', run, timeoutMs: 2 ** 31 }, 'timeoutMs: '],
    ['no attempts', { type: '*', run, retry: { attempts: 0 } }, 'retry.attempts: '],
    ['a cap below the base', { type: '*', run, retry: { baseMs: 700_000 } }, 'retry.capMs: expected at least `baseMs`'],
    ['a name with a space', { type: '*', run, name: 'a b' }, 'name: expected 1 to 100 letters'],
  ])('refuses %s', (_what, value, part) => {
    expect(problemsOf(value).message).toContain(part)
  })

  it('refuses unknown options and lists the known ones', () => {
    const { message } = problemsOf({ type: '*', run, concurency: 1, retry: { tries: 1 } })
    expect(message).toContain(
      'unknown option `concurency`; known options: type, source, provider, run, match, key, latestOnly, maxAgeMs, name, order, concurrency, rate, priority, timeoutMs, retry, onDead',
    )
    expect(message).toContain('retry: unknown option `tries`; known options: attempts, baseMs, capMs')
  })

  it('checks a file name that becomes the name of the handler', () => {
    expect(problemsOf({ type: '*', run }, 'my file').message).toContain('name: expected')
  })
})
