import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { createEffects, parseEffects } from '../../src/cli/conformance/effects.ts'
import { accepted, failed, judge } from '../../src/cli/conformance/judge.ts'
import { toJunit } from '../../src/cli/conformance/command.ts'
import { toReport, type Verdict } from '../../src/cli/conformance/run.ts'
import { needsOf, scenarios } from '../../src/cli/conformance/scenarios.ts'

const url = new URL('https://user:word@hooks.example/in?token=hidden')
const nasty = `]]> </failure> & "quoted" 'single' <b> tab\tnul\u0000 bell\u0007 escape\u001b[31m half\ud800 end\uffff`

const verdicts: readonly Verdict[] = [
  { scenario: 'acceptance', rule: 'is accepted', verdict: 'passed', detail: '200 after 4 ms', ms: 4 },
  {
    scenario: 'forgery',
    rule: `refuses ${nasty}`,
    ms: 1_234,
    ...failed({ sent: nasty, expected: '401', came: '200', todo: 'fix it' }),
  },
  { scenario: 'rotation', rule: 'both', verdict: 'not checked', detail: nasty, ms: 0 },
]
const report = toReport({ url, verdicts, ms: 1_500, cut: null })

describe('the JUnit report', () => {
  test('has a suite per scenario and a case per verdict, and escapes what XML cannot hold', () => {
    const shown =
      "]]&gt; &lt;/failure&gt; &amp; &quot;quoted&quot; 'single' &lt;b&gt; tab&#9;nul\\u0000 bell\\u0007 escape\\u001b[31m half\ufffd end\\uffff"
    const failure = `sent: ${shown}&#10;expected: 401&#10;came: 200&#10;to do: fix it`
    expect(toJunit(report).split('\n')).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites name="onchain-inbox conformance of https://hooks.example/in" tests="3" failures="1" errors="0" skipped="1" time="1.500">' +
        '<testsuite name="acceptance" tests="1" failures="0" errors="0" skipped="0" time="0.004">' +
        '<testcase classname="acceptance" name="is accepted" time="0.004"></testcase>',
      '</testsuite>',
      '<testsuite name="forgery" tests="1" failures="1" errors="0" skipped="0" time="1.234">' +
        `<testcase classname="forgery" name="refuses ${shown}" time="1.234"><failure message="refuses ${shown}">${failure}</failure>`,
      '</testcase>',
      '</testsuite>',
      '<testsuite name="rotation" tests="1" failures="0" errors="0" skipped="1" time="0.000">' +
        `<testcase classname="rotation" name="both" time="0.000"><skipped message="${shown}"></skipped>`,
      '</testcase>',
      '</testsuite>',
      '</testsuites>',
      '',
    ])
  })

  test('of a run that was cut short has an error', () => {
    const cut = { outcome: 'interrupted', reason: 'it was <interrupted>' } as const
    expect(toJunit(toReport({ url, verdicts: [], ms: 1, cut }))).toContain(
      '<testcase classname="run" name="the run is complete"><error message="it was &lt;interrupted&gt;"></error>',
    )
  })
})

test('a failed rule outweighs an early end; a run that checked nothing fails', () => {
  const cut = { outcome: 'unreachable', reason: 'gone' } as const
  const outcome = (some: readonly Verdict[], end: typeof cut | null) =>
    toReport({ url, verdicts: some, ms: 1, cut: end }).outcome
  expect(outcome(verdicts, cut)).toBe('failed')
  expect(outcome([verdicts[0]!, verdicts[2]!], null)).toBe('passed')
  expect(outcome([verdicts[0]!, verdicts[2]!], cut)).toBe('unreachable')
  expect(outcome([verdicts[2]!], null)).toBe('failed')
  expect(outcome([verdicts[2]!], cut)).toBe('unreachable')
})

describe('effects are read from', () => {
  test.each([
    ['lines of JSON', '{"id":"evt_1"}\n{"id":"evt_2","at":7}\n\n{"id":"evt_1"}\n'],
    ['plain ids', 'evt_1\r\n  evt_2\nevt_1'],
    ['a JSON array of objects', '[{"id":"evt_1"},{"id":"evt_2","x":[]},{"id":"evt_1"}]'],
    ['a JSON array of ids', '\n[ "evt_1", "evt_2", "evt_1" ]\n'],
  ])('%s, repeated ones and their order kept', (_, text) => {
    expect(parseEffects(text)).toEqual(['evt_1', 'evt_2', 'evt_1'])
  })

  test('nothing at all: nothing was done', () => {
    expect(parseEffects('')).toEqual([])
    expect(parseEffects('[]')).toEqual([])
  })

  test.each([
    ['evt_1\ntwo words', 'line 2 of'],
    ['{"event":"evt_1"}', 'line 1 of'],
    ['{"id":1}', 'line 1 of'],
    ['{"id":"evt_1"', 'line 1 of'],
    ['<html>', 'line 1 of'],
    ['[{"id":"evt_1"}', 'begin like a JSON array'],
    ['[1]', 'begin like a JSON array'],
  ])('no other text: %j', (text, message) => {
    expect(() => parseEffects(text)).toThrow(message)
    expect(() => parseEffects(text)).toThrow('expected {"id": "evt_…"} or a plain id on each line')
  })
})

test.each(['at-once', 'race'])('a delivery that loses in %s is told to answer 200', (name) => {
  const [check] = scenarios[name]?.[0]?.checks ?? []
  const answer = (status: number) => ({ status, failure: null, isLate: false, ms: 1 })
  const outcome = judge(accepted, {
    sent: '',
    answers: [answer(200), answer(500)],
    timeoutMs: 5_000,
    todo: check?.todo,
  })
  expect(outcome.detail).toContain('to do: answer 200 to a delivery that loses the race')
})

test('a rule about repeats that fails because work is missing does not ask for a unique key', async () => {
  const effects = createEffects({
    source: 'true',
    isInsecure: false,
    signal: new AbortController().signal,
    settleMs: 0,
    prefix: 'evt_',
  })
  const { detail } = await effects.judge({ sent: '', rule: 'once', ids: ['evt_1'], todo: 'let a unique key decide' })
  expect(detail).toContain('1 of 1 acknowledged events not done')
  expect(detail).toContain('to do: do the work of every acknowledged event')
})

test('docs/conformance.md lists exactly the scenarios and rules, in their order', async () => {
  const page = await readFile(new URL('../../docs/conformance.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z][a-z-]*)` \| (.*) \| (.*)\|$/gm)].map(([, ...cells]) =>
    cells.map((cell) => cell.trim()),
  )
  const options = { effects: '`--effects`', restart: '`--restart`', nextSecret: '`--next-secret`' }
  const expected = Object.entries(scenarios).flatMap(([name, cases]) =>
    cases.flatMap((one) =>
      one.checks.map((check) => [
        name,
        check.rule,
        needsOf(one, check)
          .map((need) => options[need])
          .join(' '),
      ]),
    ),
  )
  expect(rows).toEqual(expected)
})
