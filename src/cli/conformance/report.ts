import type { Report, Verdict } from './run.ts'

const verdictWidth = 'not checked'.length
const scenarioWidth = 'out-of-order'.length

/** A verdict in one line, with details below a failure. */
export function verdictText({ verdict, scenario, rule, detail }: Verdict): string {
  const line = `${verdict.padEnd(verdictWidth)}  ${scenario.padEnd(scenarioWidth)}  ${rule}`
  if (verdict === 'passed') return line
  if (verdict === 'not checked') return `${line}: ${detail}`
  const indent = ' '.repeat(verdictWidth + 2)
  return [line, ...detail.split('\n').map((part) => `${indent}${part}`)].join('\n')
}

/** The last line of a run. */
export function summaryText({ outcome, reason, passed, failed, notChecked, ms }: Report): string {
  const counts = `${passed} passed, ${failed} failed, ${notChecked} not checked, in ${(ms / 1_000).toFixed(1)} s`
  return outcome === 'passed' || reason === null ? counts : `${counts}: ${reason}`
}

/**
 * A report in the JUnit format of CI systems: a suite per scenario, a case per verdict. `not checked` is skipped. An incomplete
 * run has an error in addition.
 */
export function toJunit({ url, reason, failed, notChecked, ms, verdicts }: Report): string {
  const suites = [...Map.groupBy(verdicts, ({ scenario }) => scenario)].map(([name, cases]) => {
    const count = (verdict: Verdict['verdict']) => cases.filter((one) => one.verdict === verdict).length
    const totals = { tests: cases.length, failures: count('failed'), errors: 0, skipped: count('not checked') }
    const time = seconds(cases.reduce((sum, one) => sum + one.ms, 0))
    return element('testsuite', { name, ...totals, time }, cases.map(testCase).join(''))
  })
  if (reason !== null) {
    const incomplete = element(
      'testcase',
      { classname: 'run', name: 'the run is complete' },
      element('error', { message: reason }),
    )
    suites.push(element('testsuite', { name: 'run', tests: 1, failures: 0, errors: 1, skipped: 0 }, incomplete))
  }
  const errors = reason === null ? 0 : 1
  const totals = { tests: verdicts.length + errors, failures: failed, errors, skipped: notChecked }
  const attributes = { name: `onchain-inbox conformance of ${url}`, ...totals, time: seconds(ms) }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', attributes, suites.join(''))}`
}

function testCase({ scenario, rule, verdict, detail, ms }: Verdict): string {
  const inner = {
    passed: '',
    failed: element('failure', { message: rule }, escape(detail)),
    'not checked': element('skipped', { message: detail }),
  }
  return element('testcase', { classname: scenario, name: rule, time: seconds(ms) }, inner[verdict])
}

function element(name: string, attributes: Readonly<Record<string, string | number>>, content = ''): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(String(value))}"`)
  return `<${name}${pairs.join('')}>${content}</${name}>\n`
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text for XML 1.0. Characters that XML can't hold, such as most control characters, are written as \u0000. */
function escape(value: string): string {
  return (
    value
      .toWellFormed()
      .replaceAll(/[&<>"]/g, (character) => entities[character] ?? '')
      .replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)
      // eslint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, (character) => {
        return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      })
  )
}
