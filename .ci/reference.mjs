// Writes generated files of the package that the repository does not contain: docs/api/ (one page per entry point, from docstrings),
// schema/json/ and schema/admin-openapi.json.
// Run with `node --import ./.ci/old-typescript.mjs`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'
import { eventJsonSchemas } from '../schema/generate.ts'
import { toAdminOpenApi } from '../src/admin/openapi.ts'
import { describedRoutes } from '../src/admin/routes.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

/** The sources of the `exports` in package.json. */
const entryPoints = [
  'src/index.ts',
  'src/client/index.ts',
  'src/dispatch/format.ts',
  'schema/index.ts',
  'src/emulator/emulator.ts',
  'src/app/testing/index.ts',
]

await writeApiDocs('docs/api')
mkdirSync('schema/json', { recursive: true })
writeJson('schema/admin-openapi.json', toAdminOpenApi(describedRoutes))
for (const [name, schema] of Object.entries(eventJsonSchemas())) writeJson(`schema/json/${name}.json`, schema)

function writeJson(name, value) {
  writeFileSync(name, `${JSON.stringify(value, null, 2)}\n`)
}

async function writeApiDocs(folder) {
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints,
    outputs: [{ name: 'markdown', path: folder }],
    name: 'onchain-inbox',
    readme: 'none',
    router: 'module',
    tsconfig: 'tsconfig.json',
    // `npm run verify:types` checks them.
    skipErrorChecking: true,
    // Omits everything that depends on the machine, the commit or the version of Node's types.
    disableSources: true,
    disableGit: true,
    excludeExternals: true,
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

/** Removes HTML: anchors in table cells, and links to them. */
function tidy(page) {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, text]) => text.toLowerCase().replaceAll(/[^\w -]/g, ''))
  return page
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/<a id="[^"]*"><\/a> /g, '')
    .replaceAll(/\[(`[^`]+`)\]\(#(?:property|type-parameter)-[^)]+\)/g, '$1')
    .replaceAll(/\(#([\w-]+?)-(\d+)\)/g, (link, name, index) => {
      // The plugin also numbers headings that it does not write.
      return headings.filter((heading) => heading === name).length > Number(index) ? link : `(#${name})`
    })
}
