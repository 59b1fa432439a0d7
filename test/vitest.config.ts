import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { compileCache } from './support/compile-cache.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))

const alias = {
  'onchain-inbox/schema': at('schema/index.ts'),
  'onchain-inbox/format': at('src/dispatch/format.ts'),
  'onchain-inbox/emulator': at('src/emulator/emulator.ts'),
  'onchain-inbox/testing': at('src/app/testing/index.ts'),
  'onchain-inbox/client': at('src/client/index.ts'),
  'onchain-inbox': at('src/index.ts'),
}

/** More than cores: most tests wait for processes and timers. */
const maxWorkers = availableParallelism() + 1
/** Faults that load the whole machine or check times. All others have a folder and processes of their own. */
const loneFaults = ['idle-uploads', 'soak'].map((name) => `test/faults/${name}.test.ts`)

/**
 * The longest files begin first, so that none runs alone at the end; then project by project, because a process runs files of one
 * project only.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => /conformance\/|faults\/process\.|e2e\//.test(moduleId)
    const sorted = await super.sort(files)
    return sorted.toSorted(
      (a, b) => Number(isLong(b)) - Number(isLong(a)) || a.project.name.localeCompare(b.project.name),
    )
  }
}

// For the processes that run tests, and all that they start.
process.env['NODE_COMPILE_CACHE'] = compileCache

/** With LONG=1, random tests have many more rounds: time for one test, in milliseconds. */
const long = process.env['LONG'] ? 7_200_000 : undefined

export default defineConfig({
  root,
  resolve: { alias },
  test: {
    reporters: ['default', at('test/totals-reporter.ts')],
    sequence: { sequencer: LongestFirst },
    testTimeout: long ?? 30_000,
    hookTimeout: 30_000,
    // A process runs many files and loads the program once. Each file must restore what it changes.
    isolate: false,
    // The default of 1 s is too short for a busy machine.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          maxWorkers,
          include: ['test/unit/**/*.test.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'together',
          maxWorkers,
          globalSetup: at('test/shared.ts'),
          include: ['test/{conformance,simulation,integration,e2e,fuzz}/**/*.test.ts', 'docs/examples/*.test.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          exclude: loneFaults,
          sequence: { groupOrder: 0 },
          maxWorkers,
          testTimeout: long ?? 600_000,
        },
      },
      {
        // One file at a time, nothing beside them.
        extends: true,
        test: {
          name: 'alone',
          include: loneFaults,
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: long ?? 600_000,
        },
      },
    ],
  },
})
