// Prints the size of the package and its limits. Exits with 1 if a limit is exceeded, or a generated document is missing. Measures the
// existing dist/.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { installedLock } from './installed.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const [packed] = JSON.parse(run('npm', ['pack', '--dry-run', '--json']))

/** Name, size, limit, unit. If you raise a limit, give the reason in the changelog. */
const rows = [
  ['the tarball', packed.size / 1024, 2000, 'KiB'],
  ['its content', packed.unpackedSize / 1024, 6500, 'KiB'],
  ['its files', packed.entryCount, 1900, ''],
  ['packages of an installation', Object.keys(installedLock().packages).length, 130, ''],
  ['the console, compressed', gzippedBytes('dist/src/web/console/assets') / 1024, 260, 'KiB gzipped'],
]

for (const [name, amount, limit, unit] of rows) {
  const isOver = amount > limit
  if (isOver) process.exitCode = 1
  const cells = [name.padEnd(34), Math.round(amount).toString().padStart(6), `of ${limit} ${unit}`.padEnd(14)]
  console.log(cells.join(' ') + (isOver ? ' TOO MUCH' : ''))
}

const paths = new Set(packed.files.map(({ path }) => path))
for (const path of ['docs/api/README.md', 'schema/admin-openapi.json', 'schema/json/event.json']) {
  if (paths.has(path)) continue
  console.log(`${path} is missing in the package: run \`npm run prepack\``)
  process.exitCode = 1
}

function gzippedBytes(folder) {
  return readdirSync(folder).reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0)
}

function run(command, args) {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 25,
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: is the package built (\`npm run build\`)?`)
  return stdout
}
