import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listFaultKinds } from '../../src/emulator/faults/kinds.ts'
import { faultRuleSchema } from '../../src/emulator/faults/rules.ts'
import { problemsOf } from '../../src/emulator/rest/error.ts'

test('2.8 docs/emulator.md lists all kinds of faults, each with its parameters', () => {
  const page = readFileSync('docs/emulator.md', 'utf8')
  const [, out = '', into = ''] = page.split(/^\| (?:Delivery|REST) fault /m)
  const kinds = listFaultKinds()
  for (const [direction, table] of [
    ['out', out],
    ['in', into.split('\n\n')[0]!],
  ] as const) {
    const listed = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) => cell.split(', '))
    expect(listed).toEqual(kinds.filter((one) => one.direction === direction).map(({ kind }) => `\`${kind}\``))
  }
  for (const { kind, about, parameters } of kinds) {
    expect(about, kind).toMatch(/\.$/)
    for (const parameter of parameters) {
      expect(parameter.about, `${kind} ${parameter.name}`).not.toBe('')
      expect(parameter.default, `${kind} ${parameter.name}`).toBeDefined()
    }
  }
})

test('each kind is a valid rule by its name alone, with the listed defaults', () => {
  for (const { direction, kind, parameters } of listFaultKinds()) {
    const defaults = Object.fromEntries(parameters.map((one) => [one.name, one.default]))
    expect(faultRuleSchema.parse({ direction, fault: { kind } })).toEqual({ direction, fault: { kind, ...defaults } })
  }
})

test.each([
  [{}, 'direction: expected out (deliveries) or in (REST responses); it is missing'],
  [
    { direction: 'out', fault: { kind: 'latency' } },
    'fault.kind: expected a kind for the direction out: delay, reorder, ',
  ],
  [{ direction: 'out', fault: { kind: 'delay', millis: 1 } }, 'unknown: millis'],
  [
    { direction: 'out', fault: { kind: 'delay', ms: -1 } },
    'fault.ms: expected a whole number from 0 to 86400000; got -1',
  ],
  [{ direction: 'out', fault: { kind: 'tamper' }, path: '/v1' }, 'unknown: path'],
  [{ direction: 'out', fault: { kind: 'tamper' }, rate: 1.1 }, 'rate: expected a number from 0 to 1; got 1.1'],
  [{ direction: 'out', fault: { kind: 'tamper' }, rate: 1, script: 'x' }, 'script: expected either a rate or a script'],
  [{ direction: 'in', fault: { kind: 'empty' }, path: '/tokens' }, 'path: expected a path below /v1'],
  [
    { direction: 'in', fault: { kind: 'empty' }, methods: ['PUT'] },
    'methods.0: expected one of GET, POST, PATCH, DELETE',
  ],
])('rejects the rule %j: %s', (rule, expected) => {
  const { error } = faultRuleSchema.safeParse(rule)
  const problems = error === undefined ? [] : problemsOf(error, rule, 'body')
  expect(problems.map(({ path, message }) => `${path}: ${message}`).join('; ')).toContain(expected)
})
