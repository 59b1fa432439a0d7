// Compiles src, handlers and schema to dist/, from scratch, so that no file of an older build survives.
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
rmSync('dist', { recursive: true, force: true })
const tsc = spawnSync('node_modules/.bin/tsc', ['-p', 'src/tsconfig.json'], { stdio: 'inherit' })
if (tsc.status !== 0) process.exit(1)
chmodSync('dist/src/cli.js', 0o755)
