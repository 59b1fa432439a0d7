import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** Modules that the files of a folder may import at run time, besides Node and the folder itself. Type imports are not limited. */
const rules: Readonly<Record<string, string>> = {
  schema: 'zod',
  handlers:
    'onchain-inbox onchain-inbox/format onchain-inbox/schema @nats-io/jetstream @nats-io/transport-node @platformatic/kafka @redis/client better-sqlite3 nodemailer pg zod',
  base: '@opentelemetry/api express pino pino-pretty raw-body',
  signature: 'base',
  config: 'base signature sources schema zod',
  inbox: 'base schema zod inbox/sqlite inbox/postgres',
  'inbox/views': 'base inbox kysely',
  'inbox/sqlite': 'base schema inbox inbox/views better-sqlite3 kysely kysely/helpers/sqlite',
  'inbox/postgres': 'base schema inbox inbox/views kysely kysely/helpers/postgres p-queue pg',
  receiver: 'base signature sources inbox schema raw-body',
  sources: 'base signature schema zod',
  dispatch: 'base inbox schema signature client p-queue zod',
  health: 'base inbox client schema zod',
  client: 'base schema signature p-queue',
  admin: 'base inbox health signature schema prom-client zod',
  app: 'base signature sources config inbox inbox/sqlite receiver dispatch health client admin schema',
  web: 'schema src/base/exact-json.ts src/dispatch/format.ts src/health/words.ts @mantine/core @mantine/hooks @mantine/spotlight @tanstack/react-query @tanstack/react-virtual react react-dom/client uplot wouter',
  emulator: 'base schema signature @noble/curves/ed25519.js @scure/base yaml zod',
  cli: 'base signature sources config inbox inbox/sqlite inbox/postgres receiver dispatch health client admin schema app emulator commander onchain-inbox/testing p-queue raw-body zod',
  'src/index.ts': 'base dispatch app',
  'src/cli.ts': 'cli',
}

/** Not even types: the receiver and the dispatcher meet in the inbox only. */
const strangers = new Set(['receiver dispatch', 'dispatch receiver'])

function roomOf(file: string): string {
  const [top = '', room = '', part = ''] = file.split('/')
  if (top !== 'src') return top
  if (room === 'inbox' && ['sqlite', 'postgres', 'views'].includes(part)) return `inbox/${part}`
  return room.includes('.') ? file : room
}

/** Static imports and re-exports begin a line; a dynamic import may stand anywhere. */
function importsOf(source: string): { readonly specifier: string; readonly isType: boolean }[] {
  const clauses = source.matchAll(/^(?:import|export)\s+(type\s)?[^'"`;=()]*?\sfrom\s+['"]([^'"]+)['"]/gm)
  const bare = source.matchAll(/^import\s+['"]([^'"]+)['"]/gm)
  const dynamic = source.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)
  return [
    ...[...clauses].map(([, type, specifier = '']) => ({ specifier, isType: type !== undefined })),
    ...[...bare, ...dynamic].map(([, specifier = '']) => ({ specifier, isType: false })),
  ]
}

/** One line per import that the rules do not allow. */
function violationsOf(file: string, source: string): string[] {
  const room = roomOf(file)
  const allowed = rules[room]?.split(' ')
  if (allowed === undefined) return [`${file}: no such room`]
  return importsOf(source).flatMap(({ specifier, isType }) => {
    const path = specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier
    const target = specifier.startsWith('.') ? roomOf(path) : specifier
    const isNamed = allowed.includes(target) || allowed.includes(path)
    const isAllowed = target === room || specifier.startsWith('node:') || isType || isNamed
    return isAllowed && !strangers.has(`${room} ${target}`) ? [] : [`${file}: ${specifier}`]
  })
}

const root = join(import.meta.dirname, '../..')
// What generates files before a release is no part of the product.
const files = globSync('{src,handlers,schema}/**/*.{ts,tsx}', { cwd: root }).filter(
  (file) => !/generate[^/]*\.ts$|vite\.config/.test(file),
)
const read = (file: string) => readFileSync(join(root, file), 'utf8')

test('every file imports only what the rules let its room import', () => {
  expect(files.flatMap((file) => violationsOf(file, read(file)))).toEqual([])
})

test('no file imports itself by way of others, not even types', () => {
  const state = new Map<string, 'open' | 'done'>()
  const circles: string[] = []
  function visit(file: string, path: readonly string[]): void {
    if (state.get(file) === 'open') circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (state.has(file)) return
    state.set(file, 'open')
    for (const { specifier } of importsOf(read(file))) {
      const target = normalize(join(dirname(file), specifier))
      if (specifier.startsWith('.') && files.includes(target)) visit(target, [...path, file])
    }
    state.set(file, 'done')
  }
  for (const file of files) visit(file, [])
  expect(circles).toEqual([])
})

test('every import statement of every file was read', () => {
  for (const file of files) {
    const begun =
      read(file).match(/^import\b|^export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\b/gm)?.length ?? 0
    const dynamic = read(file).match(/\bimport\(\s*['"]/g)?.length ?? 0
    expect(importsOf(read(file)), file).toHaveLength(begun + dynamic)
  }
})

test.each([
  ['src/receiver/a.ts', `import type { B } from '../dispatch/define.ts'`],
  ['src/dispatch/a.ts', `import { b } from '../inbox/sqlite/inbox.ts'`],
  ['src/admin/a.ts', `import Sqlite from 'better-sqlite3'`],
  ['src/app/a.ts', `const b = await import('../emulator/emulator.ts')`],
  ['handlers/a.ts', `import { defineHandler } from '../src/dispatch/define.ts'`],
  ['schema/a.ts', `import {\n  b,\n  type C,\n} from '../src/base/errors.ts'`],
  ['src/new-room/a.ts', ''],
])('%s with %j is a violation', (file, source) => {
  expect(violationsOf(file, source)).toHaveLength(1)
})
