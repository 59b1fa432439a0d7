#!/usr/bin/env node
import inspector from 'node:inspector'

// SIGUSR1 makes Node open a debugger, which can read every secret. With a listener the signal does nothing.
process.on('SIGUSR1', () => {})
// A signal that came before this line has opened the debugger, or is about to. `--inspect` still opens it.
if (![...process.execArgv, process.env['NODE_OPTIONS']].join(' ').includes('--inspect')) {
  inspector.close()
  // Node handles the signal in the event loop, which loading the program would block.
  await new Promise((resolve) => setImmediate(resolve))
  inspector.close()
  setTimeout(() => inspector.close(), 1_000).unref()
}

const neededNode = 24
const { node } = process.versions

// Looked at before anything is imported: what an older Node lacks would end it with words that help nobody.
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
