// Prints the bill of materials of an installation, as CycloneDX JSON: `npm run --silent sbom > sbom.cdx.json`.
// `npm sbom --omit dev` also omits packages that development packages share, so it gets a lock file without those.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installedLock } from './installed.mjs'

const { devDependencies: _dev, ...manifest } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)
const lock = installedLock()
const folder = mkdtempSync(join(tmpdir(), 'onchain-inbox-sbom-'))
try {
  // npm takes the name of the project from its folder.
  const project = join(folder, manifest.name)
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock))
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const text = execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const missing = missingIn(JSON.parse(text))
  if (missing.length > 0) throw new Error(`npm left out ${missing.join(', ')}: the bill of materials would be wrong`)
  process.stdout.write(text)
} finally {
  rmSync(folder, { recursive: true })
}

function missingIn({ components }) {
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`))
  return Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
    .filter((one) => !listed.has(one))
}
