// Installs what is missing, and only then. Plain JavaScript for Node >= 20: it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const stamp = 'node_modules/.installed'
const wanted = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  process.stderr.write('Installing packages (once, about a minute) …\n')
  rmSync(stamp, { force: true })
  const install = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (install.status !== 0) {
    process.stderr.write('`npm ci` failed: see the lines above. Is the npm registry reachable?\n')
    process.exit(1)
  }
  writeFileSync(stamp, wanted)
}
