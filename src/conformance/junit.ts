import type { Verdict } from './port.ts'
import type { Report } from './report.ts'

/**
 * A report in the JUnit format, as CI systems read it: a suite per scenario, a case per verdict; `not checked` is skipped. A run that
 * was cut short, or checked nothing, has an error beside.
 */
export function toJunit({ url, reason, failed, notChecked, ms, verdicts }: Report): string {
  const suites = Map.groupBy(verdicts, ({ scenario }) => scenario)
  const errors = reason === null ? 0 : 1
  const totals = { tests: verdicts.length + errors, failures: failed, errors, skipped: notChecked }
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: `onchain-inbox conformance of ${url}`, ...totals, time: seconds(ms) })}>`,
    ...[...suites].flatMap(([name, cases]) => suite(name, cases)),
    ...(reason === null ? [] : incomplete(reason)),
    '</testsuites>',
    '',
  ].join('\n')
}

function suite(name: string, verdicts: readonly Verdict[]): string[] {
  const count = (verdict: Verdict['verdict']) => verdicts.filter((one) => one.verdict === verdict).length
  const totals = { tests: verdicts.length, failures: count('failed'), errors: 0, skipped: count('not checked') }
  const time = seconds(verdicts.reduce((sum, { ms }) => sum + ms, 0))
  return [`  <testsuite${attributes({ name, ...totals, time })}>`, ...verdicts.flatMap(testCase), '  </testsuite>']
}

function testCase({ rule, scenario, title, verdict, detail, ms }: Verdict): string[] {
  const start = `    <testcase${attributes({ classname: scenario, name: `${rule} ${title}`, time: seconds(ms) })}`
  if (verdict === 'passed') return [`${start}/>`]
  const inner =
    verdict === 'failed'
      ? `<failure${attributes({ message: title })}>${text(detail)}</failure>`
      : `<skipped${attributes({ message: detail })}/>`
  return [`${start}>`, `      ${inner}`, '    </testcase>']
}

function incomplete(reason: string): string[] {
  return [
    '  <testsuite name="run" tests="1" failures="0" errors="1" skipped="0">',
    '    <testcase classname="run" name="the run is complete">',
    `      <error${attributes({ message: reason })}/>`,
    '    </testcase>',
    '  </testsuite>',
  ]
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${text(String(value))}"`)
    .join('')
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3)
}

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** Text for XML 1.0. What it cannot hold at all, most control characters, is written as \u0000. */
function text(value: string): string {
  return (
    value
      .toWellFormed()
      .replaceAll(/[&<>"']/g, (character) => named[character] ?? '')
      .replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)
      // eslint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, (character) => {
        return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      })
  )
}
