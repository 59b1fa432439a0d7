import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { Simulation, type Report } from './simulation.ts'

const only = process.env['SEED']
const shownLines = 60

/** The violations and the end of the trace, with the command that repeats it. */
function describeFailure({ seed, violations, trace }: Report): string {
  return [
    `seed ${seed}:`,
    ...violations.map((violation) => `  ${violation}`),
    `last of ${trace.length} lines:`,
    ...trace.slice(-shownLines).map((line) => `  ${line}`),
    `whole trace: SEED=${seed} npx vitest run --config test/vitest.config.ts test/simulation`,
  ].join('\n')
}

test.runIf(only !== undefined)(`seed ${only} has no violations`, { timeout: 300_000 }, async () => {
  const report = await Simulation.run(Number(only))
  console.log(report.trace.join('\n'))
  expect(report.violations).toEqual([])
})

test.skipIf(only !== undefined)(
  `${counts.simulationSeeds} seeds with random faults have no violations`,
  { timeout: 300_000 + counts.simulationSeeds * 1_000 },
  async () => {
    for (let seed = 1; seed <= counts.simulationSeeds; seed += 1) {
      const report = await Simulation.run(seed)
      if (report.violations.length > 0) expect.fail(describeFailure(report))
    }
  },
)

test.skipIf(only !== undefined)('the same seed gives the same trace', { timeout: 300_000 }, async () => {
  for (const seed of [1, 2, 3]) {
    const [first, second] = [await Simulation.run(seed), await Simulation.run(seed)]
    expect(second.trace).toEqual(first.trace)
  }
})
