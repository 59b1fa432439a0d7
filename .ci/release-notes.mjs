// Prints release notes in Markdown: the newest section of the changelog, and digests of the downloads.
// `node .ci/release-notes.mjs onchain-inbox-0.1.0.tgz sbom.cdx.json`
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

const [tarball, sbom] = process.argv.slice(2)
if (tarball === undefined || sbom === undefined) {
  console.error(
    'Expected the file that `npm pack` wrote, and that of `npm run --silent sbom`: see docs/CONTRIBUTING.md',
  )
  process.exit(1)
}
const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const { name, version, engines } = JSON.parse(read('package.json'))
const { title, text } = newestSection(read('docs/CHANGELOG.md'))
if (title.split(',')[0] !== version) {
  console.error(
    `docs/CHANGELOG.md begins with ${title}, package.json says ${version}: one of them is to be brought up to date`,
  )
  process.exit(1)
}

process.stdout.write(`# ${name} ${title}

${text}

## Verify your download

| | |
|---|---|
| \`${basename(tarball)}\`, integrity | \`sha512-${digest(tarball, 'sha512', 'base64')}\` |
| \`${basename(tarball)}\`, SHA-256 | \`${digest(tarball, 'sha256', 'hex')}\` |
| \`${basename(sbom)}\` (CycloneDX), SHA-256 | \`${digest(sbom, 'sha256', 'hex')}\` |
| Packages that it brings | ${JSON.parse(readFileSync(sbom, 'utf8')).components.length} |
| Node | ${engines.node} |

\`npm audit signatures\` checks the provenance of an installed package: which commit it was built from, and by which workflow.
`)

/** The section of the first level-2 heading. */
function newestSection(changelog) {
  const [, section = ''] = changelog.split(/^## /m)
  const [title, ...lines] = section.split('\n')
  return { title, text: lines.join('\n').trim() }
}

function digest(file, algorithm, encoding) {
  return createHash(algorithm).update(readFileSync(file)).digest(encoding)
}
