#!/usr/bin/env node
import inspector from 'node:inspector'

// SIGUSR1 makes Node open a debugger, which can read every secret. A listener disables that.
process.on('SIGUSR1', () => {})
// An earlier signal may have opened the debugger already, or be about to. `--inspect` still works.
if (![...process.execArgv, process.env['NODE_OPTIONS']].join(' ').includes('--inspect')) {
  inspector.close()
  // Node handles the signal in the event loop, and loading the program would block that.
  await new Promise((resolve) => setImmediate(resolve))
  inspector.close()
  setTimeout(() => inspector.close(), 1_000).unref()
}

const neededNode = 24
const { node } = process.versions

// Checked before any import: an older Node would fail with an unhelpful error.
if (Number.parseInt(node) >= neededNode) {
  const [{ runCommand }, { prepareEnd }] = await Promise.all([
    import('./cli/program.ts'),
    import('./cli/process-end.ts'),
  ])
  const end = prepareEnd()
  await runCommand(process.argv.slice(2))
  await end.ifStuck()
} else {
  process.stderr.write(
    `onchain-inbox needs Node ${neededNode} or newer, and this is ${node}. A clone brings one: after \`npm ci\`, call it as ` +
      '`npx onchain-inbox`. Elsewhere install one: https://nodejs.org\n',
  )
  process.exitCode = 1
}
