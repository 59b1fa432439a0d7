#!/usr/bin/env node
const neededNode = 24
const { node } = process.versions

// Looked at before anything is imported: what an older Node lacks would end it with words that help nobody.
if (Number.parseInt(node) >= neededNode) await import('./cli/main.ts')
else {
  process.stderr.write(
    `onchain-inbox needs Node ${neededNode} or newer, and this is ${node}. A clone brings one: after \`npm ci\`, call it as ` +
      '`npx onchain-inbox`. Elsewhere install one: https://nodejs.org\n',
  )
  process.exitCode = 1
}

export {}
