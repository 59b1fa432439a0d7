import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { eventIdsIn } from '../../src/cli/conformance/effects.ts'
import { toReport, type Verdict } from '../../src/cli/conformance/run.ts'
import { needsOf, scenarios } from '../../src/cli/conformance/scenarios.ts'

const url = new URL('https://user:word@hooks.example/in?token=hidden')
const verdictOf = (verdict: Verdict['verdict']): Verdict => ({ scenario: '', rule: '', verdict, detail: '' })
const [success, failure, unchecked] = [verdictOf('passed'), verdictOf('failed'), verdictOf('not checked')]

test.each([
  ['failed', [success, failure], 'gone'],
  ['passed', [success, unchecked], null],
  ['unreachable', [success, unchecked], 'gone'],
  ['interrupted', [success], 'interrupted'],
  ['failed', [unchecked], null],
  ['unreachable', [unchecked], 'gone'],
])('the outcome is %s for %j with the cause of an early end %j', (outcome, some, cut) => {
  expect(toReport(url, some, 1, cut)).toMatchObject({ outcome, url: 'https://hooks.example/in' })
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
