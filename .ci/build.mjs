// Compiles src, handlers and schema and builds the pages, into dist/ or the folder in the first argument. Deletes it first.
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const out = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url)))
process.chdir(fileURLToPath(new URL('..', import.meta.url)))
rmSync(out, { recursive: true, force: true })
// By path, because `typescript-5` (for generators) also has a `tsc`.
run('typescript/bin/tsc', '-p', 'src/tsconfig.json', '--outDir', out)
for (const page of ['src/web/console', 'src/web/dashboard']) {
  const outOptions = ['--outDir', join(out, page), '--emptyOutDir', '--logLevel', 'warn']
  run('vite/bin/vite.js', 'build', page, '--config', 'src/web/vite.config.ts', ...outOptions)
}
chmodSync(join(out, 'src/cli.js'), 0o755)
if (process.argv[2] === undefined) {
  // npx would keep a broken copy of the package if it ran before the first build. It prefers this link.
  const link = 'node_modules/.bin/onchain-inbox'
  rmSync(link, { force: true })
  symlinkSync('../../dist/src/cli.js', link)
}

function run(file, ...args) {
  const { status } = spawnSync(process.execPath, [`node_modules/${file}`, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    // Tests set another NODE_ENV, but the pages must be production builds.
    env: { ...process.env, NODE_ENV: 'production' },
  })
  if (status !== 0) process.exit(1)
}
