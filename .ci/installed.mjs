// Packages that an installation of this package contains.
import { readFileSync } from 'node:fs'

/**
 * The lock file without development packages and optional peers.
 *
 * @returns {{ packages: Record<string, { version: string }> }} the package itself under `''`
 */
export function installedLock() {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'))
  const { '': root, ...others } = lock.packages
  const isInstalled = ([, { dev, devOptional, peer }]) => !dev && !devOptional && !peer
  const { devDependencies: _dev, ...production } = root
  return { ...lock, packages: { '': production, ...Object.fromEntries(Object.entries(others).filter(isInstalled)) } }
}
