import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadProgram } from '../../src/cli/commands.ts'
import { inputs, type Input } from '../../src/plan/inputs.ts'
import { runCli } from '../support/cli.ts'

const plan = (...args: string[]) => runCli(['plan', ...args], { cwd: tmpdir() })
const page = () => readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')
const billion = ['--events-per-day', '1e9', '--retention', '3', '--simulate']

test('plan says that SQLite is enough for a million events a day, what it takes, and that this is a model', async () => {
  const { code, out, errors } = await plan('--events-per-day', '1000000', '--retention', '30', '--table')
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(out).toContain('A model, not a measurement of your machine.')
  expect(out).toMatch(/^SQLite is enough: up to [\d,]+ events a day/m)
  expect(out).toMatch(/^events a second +12 on average, 58 in the busiest second$/m)
  expect(out).toContain('that of PostgreSQL was not measured')
  expect(out).not.toContain('Simulated')
})

test('plan --json has every figure, and for each input how it was measured', async () => {
  const { code, out } = await plan('--events-per-day', '2e6', '--keys', '10', '--replicas', '2', '--json')
  expect(code).toBe(0)
  const result = JSON.parse(out) as Record<string, unknown>
  expect(result).toMatchObject({
    plan: {
      demand: { events_per_day: 2_000_000, retention_days: 30, keys: 10, replicas: 2 },
      store: 'postgres',
      postgres: { cluster: { databases: 1, replicas: 2 } },
    },
    simulation: null,
  })
  expect(Object.values(result['inputs'] as object)).toEqual(Object.values(inputs))
})

test('plan --simulate --json has the days, and another seed has others', async () => {
  const simulate = async (...args: string[]) => {
    const { code, out } = await plan(...billion, ...args, '--json')
    expect(code).toBe(0)
    return (JSON.parse(out) as { simulation: { databases: number; days: readonly object[] } }).simulation
  }
  const [one, other] = await Promise.all([simulate(), simulate('--seed', 'b')])
  expect(one.databases).toBe(5)
  expect(one.days).toHaveLength(3)
  expect(one.days[1]).toMatchObject({ incident: 'store_away', totals: { given_up: 0 }, over_after_seconds: 1_799 })
  expect(other.days[0]).toMatchObject({ incident: 'none', totals: { refused: 0 } })
  expect(other.days).not.toEqual(one.days)
})

test('docs/scaling.md shows what plan prints for a billion events a day', async () => {
  const { code, out } = await plan(...billion, '--table')
  expect(code).toBe(0)
  expect(page()).toContain(`\n$ onchain-inbox plan ${billion.join(' ')}\n${out}`)
})

test('docs/scaling.md lists the inputs of the model as they are', () => {
  const all: readonly (readonly [string, Input])[] = Object.entries(inputs)
  const rows = all.map(
    ([name, { value, unit, basis, how }]) =>
      `| \`${name}\` | ${value.toLocaleString('en-US')} ${unit} | ${basis} | ${how} |`,
  )
  const shown = page()
    .split('\n')
    .filter((line) => /^\| `\w+` \|.*\| (measured|assumed) \|/.test(line))
  expect(shown).toEqual(rows)
})

test.each([
  [[], "required option '--events-per-day <number>' not specified"],
  [['--events-per-day', 'many'], 'Expected a number from 1 to 1000000000000.'],
  [['--events-per-day', '0'], 'Expected a number from 1'],
  [['--events-per-day', '5', '--handlers', '1.5'], 'Expected a whole number from 0 to 1000.'],
  [['--events-per-day', '5', '--peak', '0.5'], 'Expected a number from 1 to 1000.'],
  [['--events-per-day', '5', '--keys', '0'], 'Expected a whole number from 1'],
  [['--events-per-day', '1e'], 'Expected a number from 1'],
])('plan %j is refused: %s', async (args, words) => {
  const program = await loadProgram('plan')
  await expect(program.parseAsync(['plan', ...args], { from: 'user' })).rejects.toThrow(words)
})

test('a mistake in a call of plan ends with 1', async () => {
  const { code, out, errors } = await plan('--events-per-day', 'many')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toMatch(/^usage: .*Expected a number/)
})
