import type { FaultKind, FaultRule } from '../contract-faults.ts'

/** What was typed, by field; an empty text: nothing is said of it. */
export interface RuleInput {
  readonly values: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<'endpoint' | 'types' | 'path' | 'rate' | 'script' | 'times', string>>
}

/** The rule of a form. What is no number where one is expected goes as it is: the server says what it expected. */
export function toRule({ kind, direction, parameters }: FaultKind, { values, limits }: RuleInput): FaultRule {
  const fault: Record<string, unknown> & { kind: string } = { kind }
  for (const { name, default: preset } of parameters) {
    const text = values[name]?.trim() ?? ''
    if (text !== '') fault[name] = typeof preset === 'number' ? toNumber(text) : toBoolean(text, preset)
  }
  const said = (name: keyof typeof limits) => limits[name].trim()
  const types = said('types')
    .split(/[\s,]+/)
    .filter((type) => type !== '')
  return {
    direction,
    fault,
    ...(direction === 'out' && said('endpoint') !== '' && { endpoint: said('endpoint') }),
    ...(direction === 'out' && types.length > 0 && { types }),
    ...(direction === 'in' && said('path') !== '' && { path: said('path') }),
    ...(said('rate') !== '' && { rate: toNumber(said('rate')) }),
    ...(said('script') !== '' && { script: said('script') }),
    ...(said('times') !== '' && { times: toNumber(said('times')) }),
  }
}

function toNumber(text: string): number | string {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}

function toBoolean(text: string, preset: unknown): boolean | string {
  return typeof preset === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}
