import type { Verdict } from './port.ts'
import type { Report } from './report.ts'

const verdictWidth = 'not checked'.length
const ruleWidth = 4
const scenarioWidth = 12

/** A verdict in a line for people, and what they need to know of it below. */
export function verdictText({ verdict, rule, scenario, title, detail }: Verdict): string {
  const line = `${verdict.padEnd(verdictWidth)}  ${rule.padEnd(ruleWidth)}  ${scenario.padEnd(scenarioWidth)}  ${title}`
  if (verdict === 'passed') return line
  if (verdict === 'not checked') return `${line}: ${detail}`
  const indent = ' '.repeat(verdictWidth + 2)
  return [line, ...detail.split('\n').map((part) => `${indent}${part}`)].join('\n')
}

/** The last line. */
export function summaryText({ outcome, reason, passed, failed, notChecked, ms }: Report): string {
  const counts = `${passed} passed, ${failed} failed, ${notChecked} not checked, in ${(ms / 1_000).toFixed(1)} s`
  return outcome === 'passed' || reason === null ? counts : `${counts}: ${reason}`
}

/** The same as JSON; the verdicts were printed one by one. */
export function summaryJson({ outcome, reason, url, passed, failed, notChecked, ms }: Report): object {
  return { msg: 'finished', outcome, reason, url, passed, failed, notChecked, ms }
}
