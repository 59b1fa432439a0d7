// Writes docs/api/ from the docstrings of what the package exports, one page per entry point; with --check it only reports what
// is not as it would write it. To be run with `node --import ./.ci/old-typescript.mjs`.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application, OptionDefaults } from 'typedoc'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const folder = 'docs/api'

/** The sources of the `exports` in package.json. */
const entryPoints = [
  'src/index.ts',
  'src/client/index.ts',
  'src/dispatch/format.ts',
  'schema/index.ts',
  'src/emulator/emulator.ts',
  'src/testing/index.ts',
]

if (process.argv.includes('--check')) await check()
else await write(folder)

async function check() {
  const fresh = mkdtempSync(join(tmpdir(), 'onchain-inbox-api-'))
  try {
    await write(fresh)
    const names = new Set([...readdirSync(folder), ...readdirSync(fresh)])
    const stale = [...names].filter((name) => read(join(folder, name)) !== read(join(fresh, name)))
    for (const name of stale) console.error(`stale: ${folder}/${name}`)
    if (stale.length === 0) return
    console.error('The API reference does not match the docstrings: run `npm run generate`.')
    process.exitCode = 1
  } finally {
    rmSync(fresh, { recursive: true })
  }
}

async function write(out) {
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints,
    outputs: [{ name: 'markdown', path: out }],
    name: 'onchain-inbox',
    readme: 'none',
    router: 'module',
    tsconfig: 'tsconfig.json',
    // `npm run verify:types` has checked them.
    skipErrorChecking: true,
    // Nothing that changes from one machine, commit or release of Node's types to the next.
    disableSources: true,
    disableGit: true,
    excludeExternals: true,
    // That is how the types made of the OpenAPI document describe themselves.
    blockTags: [...OptionDefaults.blockTags, '@description'],
    sort: ['alphabetical'],
    sortEntryPoints: false,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    tableColumnSettings: { hideDefaults: true, hideInherited: true, hideModifiers: true, hideOverrides: true },
    pageTitleTemplates: {
      index: 'API reference',
      module: ({ name }) => name.replace(/^(?!onchain-inbox$)/, 'onchain-inbox/'),
    },
    logLevel: 'Warn',
  })
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = tidy(page.contents ?? '')
  })
  const project = await app.convert()
  if (project === undefined) throw new Error('typedoc could not read the sources: see above')
  for (const module of project.children) module.name = module.name === 'src' ? 'onchain-inbox' : basename(module.name)
  await app.generateOutputs(project)
}

/** Without what only HTML has: anchors in the cells of tables, and links to them. */
function tidy(page) {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, text]) => text.toLowerCase().replaceAll(/[^\w -]/g, ''))
  return page
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/<a id="[^"]*"><\/a> /g, '')
    .replaceAll(/\[(`[^`]+`)\]\(#(?:property|type-parameter)-[^)]+\)/g, '$1')
    .replaceAll(/\(#([\w-]+?)-(\d+)\)/g, (link, name, index) => {
      // The plugin also counts headings that it does not write.
      return headings.filter((heading) => heading === name).length > Number(index) ? link : `(#${name})`
    })
}

/** Null if there is no such file. */
function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}
