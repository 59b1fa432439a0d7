// Compiles src, handlers and schema to dist/, and builds the pages, from scratch, so that no file of an older build survives.
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
rmSync('dist', { recursive: true, force: true })
run('tsc', '-p', 'src/tsconfig.json')
run('vite', 'build', '--config', 'src/emulator/dashboard/vite.config.ts', '--logLevel', 'warn')
chmodSync('dist/src/cli.js', 0o755)

function run(command, ...args) {
  // Whatever is set here, as in a test, the pages are for use.
  const env = { ...process.env, NODE_ENV: 'production' }
  const { status } = spawnSync(`node_modules/.bin/${command}`, args, { stdio: ['ignore', 'inherit', 'inherit'], env })
  if (status !== 0) process.exit(1)
}
