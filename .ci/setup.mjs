// Installs packages if any are missing. Plain JavaScript for Node >= 20, because it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

if (!isInstalled()) {
  process.stderr.write('Installing packages (once, about a minute) …\n')
  const install = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (install.status !== 0) {
    process.stderr.write('`npm ci` failed: see the lines above. Is the npm registry reachable?\n')
    process.exit(1)
  }
}

/** npm lists installed packages in `node_modules/.package-lock.json`. Optional packages may be for other platforms. */
function isInstalled() {
  // An install script adds `node`, and scripts may be disabled.
  if (!existsSync('node_modules/.bin/node') || !existsSync('node_modules/.package-lock.json')) return false
  const installed = packagesOf('node_modules/.package-lock.json')
  const isInstalledAsWanted = ([path, { version, optional = false }]) =>
    path in installed ? installed[path].version === version : optional
  const { '': _root, ...wanted } = packagesOf('package-lock.json')
  return Object.entries(wanted).every(isInstalledAsWanted)
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages
}
