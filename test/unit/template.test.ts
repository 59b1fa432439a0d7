import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toMessage } from '../../handlers/sinks/common/message.ts'
import { fillTemplate, parseTemplate, templateFor, templates } from '../../handlers/sinks/common/template.ts'
import type { AnyEvent } from '../../schema/index.ts'
import slackKind from '../../handlers/sinks/slack.ts'
import { toHandlerEvent } from '../../src/dispatch/context.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

function handlerEvent(json: string) {
  const raw = Buffer.from(json)
  const { id, type } = JSON.parse(json) as AnyEvent
  return toHandlerEvent({ seq: 1, id, type, createdAt: '', receivedAt: 0, key: id, secretLabel: 'main', raw })
}

function fill(text: string, event: AnyEvent | string = eventSamples['wallet.large_trade']): string {
  const parsed = parseTemplate(text)
  if (typeof parsed === 'string') throw new Error(parsed)
  const filled = handlerEvent(typeof event === 'string' ? event : JSON.stringify(event))
  return fillTemplate(parsed, filled, toMessage(filled))
    .map(({ text: shown, url }) => (url === undefined ? shown : `<${shown}>`))
    .join('')
}

test.each([
  ['{data.token_symbol} for {data.amount_usd|usd}', 'EXMPL for $12,000.00'],
  ['{ data.amount_usd | amount }', '12,000'],
  ['{data.amount_usd|percent}', '+12,000.00%'],
  ['{data.wallet_address|address}', '0x5aAe…BeAed'],
  ['{created_at|time} {type} {id}', '14:03:22 wallet.large_trade evt_01kg9v6w4q7a2m5b8c3d6e9f2g'],
  ['{severity} on {network}: {title}', 'info on ethereum: 0x5aAe…BeAed bought EXMPL for $12,000.00'],
  ['{links}', '<wallet> · <token> · <transaction>'],
  ['{{data}} }}{{', '{data} }{'],
  ['{data.nothing} {data.token_symbol.length} {data.constructor} {data.amount_usd.x|usd}', '? ? ? $?'],
  ['', ''],
])('a template %j becomes %j', (text, said) => {
  expect(fill(text)).toBe(said)
})

test('R98 a template shows every digit of a number without a filter', () => {
  const event =
    '{"id":"e","type":"x","created_at":"","data":{"n":123456789012345678901.50,"s":1e-18,"b":true,"l":["a",2],"e":[],"z":null,"o":{}}}'
  expect(fill('{data.n} {data.s} {data.b} {data.l} {data.l.1} {data.e} {data.z} {data.o}', event)).toBe(
    '123456789012345678901.50 1e-18 true a, 2 2 none ? ?',
  )
})

test('a template does not interpret values as templates', () => {
  const event = JSON.stringify({ id: 'e', type: 'x', created_at: '', data: { a: '{data.b}\n\u202e', b: 'secret' } })
  expect(fill('{data.a}', event)).toBe('{data.b}\\u000a\\u202e')
})

test.each([
  ['{data.amount_usd|euro}', 'expected at most one filter'],
  ['{title|usd}', 'expected at most one filter'],
  ['{amount_usd}', 'expected id, type, created_at, data.<field>'],
  ['{}', 'expected id, type, created_at, data.<field>'],
  ['a { b', 'expected a placeholder or a doubled brace'],
  ['a } b', 'expected a placeholder or a doubled brace'],
  ['x'.repeat(4_001), 'expected at most 4000 characters'],
])('a template %j is invalid', (text, problem) => {
  expect(parseTemplate(text)).toContain(problem)
  const options = slackKind.options.safeParse({ url: 'https://hooks.slack.com/services/x', templates: { '*': text } })
  expect(options.error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [['templates', '*'], expect.stringContaining(problem)],
  ])
})

test('a template applies to a type, else the longest prefix, else *', () => {
  const all = templates.parse({
    '*': 'any',
    'wallet.*': 'wallet',
    'wallet.large_trade': 'trade',
    'wallet.x.*': 'deep',
  })
  const of = (type: string) => templateFor(all, type)
  expect(of('wallet.large_trade')).toEqual([{ kind: 'text', text: 'trade' }])
  expect(of('wallet.x.y')).toEqual([{ kind: 'text', text: 'deep' }])
  expect(of('wallet.other')).toEqual([{ kind: 'text', text: 'wallet' }])
  expect(of('wallets.other')).toEqual([{ kind: 'text', text: 'any' }])
  expect(of('constructor')).toEqual([{ kind: 'text', text: 'any' }])
  expect(templateFor({}, 'wallet.other')).toBeUndefined()
  expect(templates.safeParse({ 'wallet.*.x': 'a' }).success).toBe(false)
  expect(templates.safeParse({ '': 'a' }).success).toBe(false)
})

test('a template parses or is refused with a reason; escaped text is unchanged', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('{', '}', '|', 'data.a', 'usd', ' ', 'x', '\ud83d\ude00') }),
      (text) => {
        const parsed = parseTemplate(text)
        if (typeof parsed === 'string') expect(parsed).toContain('expected')
        const escaped = text.replaceAll(/[{}]/g, (brace) => brace + brace)
        expect(fill(escaped)).toBe(text)
      },
    ),
  )
})
