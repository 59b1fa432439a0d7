import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { eventIdsIn } from '../../src/cli/conformance/effects.ts'
import { accepted, failed, judge } from '../../src/cli/conformance/judge.ts'
import { toJunit } from '../../src/cli/conformance/command.ts'
import { toReport, type Verdict } from '../../src/cli/conformance/run.ts'
import { needsOf, scenarios } from '../../src/cli/conformance/scenarios.ts'

const url = new URL('https://user:word@hooks.example/in?token=hidden')
/** Characters that XML must escape or cannot hold. */
const special = `]]> </failure> & "quoted" 'single' <b> tab\tnul\u0000 bell\u0007 escape\u001b[31m half\ud800 end\uffff`

const verdicts: readonly Verdict[] = [
  { scenario: 'acceptance', rule: 'is accepted', verdict: 'passed', detail: '200 after 4 ms', ms: 4 },
  {
    scenario: 'forgery',
    rule: `refuses ${special}`,
    ms: 1_234,
    ...failed({ sent: special, expected: '401', got: '200', fix: 'fix it' }),
  },
  { scenario: 'rotation', rule: 'both', verdict: 'not checked', detail: special, ms: 0 },
]

test('the JUnit report has a case per verdict, an error if the run was cut short, and escaped text', () => {
  const shown =
    "]]&gt; &lt;/failure&gt; &amp; &quot;quoted&quot; 'single' &lt;b&gt; tab&#9;nul\\u0000 bell\\u0007 escape\\u001b[31m half\ufffd end\\uffff"
  const failure = `sent: ${shown}&#10;expected: 401&#10;got: 200&#10;fix: fix it`
  expect(toJunit(toReport(url, verdicts, 1_500, 'it was <cut>')).split('\n')).toEqual([
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuite name="onchain-inbox conformance of https://hooks.example/in" tests="4" failures="1" errors="1" skipped="1" time="1.500">' +
      '<testcase classname="acceptance" name="is accepted" time="0.004"></testcase>',
    `<testcase classname="forgery" name="refuses ${shown}" time="1.234"><failure message="refuses ${shown}">${failure}</failure>`,
    '</testcase>',
    `<testcase classname="rotation" name="both" time="0.000"><skipped message="${shown}"></skipped>`,
    '</testcase>',
    '<testcase classname="run" name="the run is complete"><error message="it was &lt;cut&gt;"></error>',
    '</testcase>',
    '</testsuite>',
    '',
  ])
})

const [success, failure, unchecked] = verdicts as [Verdict, Verdict, Verdict]

test.each([
  ['failed', [success, failure], 'gone'],
  ['passed', [success, unchecked], null],
  ['unreachable', [success, unchecked], 'gone'],
  ['interrupted', [success], 'interrupted'],
  ['failed', [unchecked], null],
  ['unreachable', [unchecked], 'gone'],
])('the outcome is %s for %j with the cause of an early end %j', (outcome, some, cut) => {
  expect(toReport(url, some, 1, cut).outcome).toBe(outcome)
})

test.each([
  [302, 'give the final address as --url'],
  [401, 'give the receiver the same secret as --secret'],
  [404, 'check the path of --url'],
  [500, 'read the log of the receiver'],
  [422, 'answer 2xx to every signed delivery'],
])('the advice depends on the status of the response: %i', (status, fix) => {
  const answers = [{ status, failure: null, isLate: false, ms: 1 }]
  const { verdict, detail } = judge(accepted, { sent: '', answers, timeoutMs: 5_000 })
  expect(verdict).toBe('failed')
  expect(detail).toContain(`got: ${status} after 1 ms\nfix: ${fix}`)
})

test.each([
  ['lines of JSON', '{"id":"evt_1"}\n{"id":"evt_2","at":7}\n{"id":"evt_1"}\n'],
  ['plain ids', 'evt_1\r\n  evt_2 done\nevt_1'],
  ['a JSON array', '[ "evt_1", {"id":"evt_2","x":[]}, "evt_1" ]'],
])('reads effects from %s, and keeps duplicates', (_, text) => {
  expect(eventIdsIn(text)).toEqual(['evt_1', 'evt_2', 'evt_1'])
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
