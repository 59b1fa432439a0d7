import type { Reporter, TestModule } from 'vitest/node'

const listedFiles = 20

/** Ends a run with its slowest files and one plain line, `N passed, N failed`, so that an empty run is seen as one. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0
    let failed = unhandledErrors.length
    let skipped = 0
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'failed') failed++
        else skipped++
      }
      // A hook that fails after its tests, or a file that cannot be loaded.
      failed += module.errors().length
      for (const suite of module.children.allSuites()) failed += suite.errors().length
    }
    const tail = skipped > 0 ? `, ${skipped} skipped` : ''
    const slowest = modules
      .map((module) => ({ file: module.relativeModuleId, seconds: module.diagnostic().duration / 1_000 }))
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, listedFiles)
      .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`)
    const text = `\nSlowest test files:\n${slowest.join('\n')}\n\n${passed} passed, ${failed} failed${tail}\n`
    // The default reporter prints its summary in the same phase; this line must be the last one.
    setImmediate(() => process.stdout.write(text))
  }
}
