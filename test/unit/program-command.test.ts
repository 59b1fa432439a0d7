import { expect, test } from 'vitest'
import { programCommand } from '../../src/cli/host.ts'

test.each([
  ['/work/app/node_modules/.bin/onchain-inbox', '/work/app', 'npx onchain-inbox'],
  ['/home/me/.npm/_npx/0a/node_modules/.bin/onchain-inbox', '/tmp', 'npx onchain-inbox'],
  ['/usr/local/bin/onchain-inbox', '/work', 'onchain-inbox'],
  ['/work/clone/dist/src/cli.js', '/work/clone', 'npx onchain-inbox'],
  ['/work/clone/src/cli.ts', '/tmp/empty', 'node /work/clone/src/cli.ts'],
  ['/work/my clone/src/cli.ts', '/tmp', "node '/work/my clone/src/cli.ts'"],
])('a program started as %s is called in %s as %s', (script, cwd, command) => {
  expect(programCommand(script, cwd)).toBe(command)
})
