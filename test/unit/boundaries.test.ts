import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

interface Import {
  readonly specifier: string
  /** `import type` or `export type`: gone at run time. */
  readonly isType: boolean
}

interface Rule {
  readonly area: string
  /** Files of the area: a folder with a slash at its end, or one file. */
  readonly files: readonly string[]
  /** Areas it may import beside itself, and packages. `node:*` stands for all of Node's. */
  readonly may: readonly string[]
}

const leaves = ['errors', 'log', 'clock', 'leaf', 'format-values']
const inboxParts = ['inbox/port', 'inbox/bridge', 'inbox']
const parts = [
  'config',
  'secrets',
  'signature',
  'schema',
  ...inboxParts,
  'inbox/sqlite',
  'inbox/postgres',
  'http',
  'node:*',
]

/** Who may import whom: design.md, and what the tree has beyond it. The first rule that names a file is its rule. */
const rules: readonly Rule[] = [
  {
    area: 'schema/generate',
    files: ['schema/generate.ts'],
    may: ['schema', 'node:*'],
  },
  { area: 'schema', files: ['schema/'], may: ['zod'] },
  // By its public names only, as a user's handlers.
  {
    area: 'handlers',
    files: ['handlers/'],
    may: [
      'onchain-inbox',
      'onchain-inbox/format',
      'onchain-inbox/schema',
      'node:*',
      'zod',
      // Of these each is loaded by the sink that needs it, and by nothing else.
      '@nats-io/jetstream',
      '@nats-io/transport-node',
      '@platformatic/kafka',
      '@redis/client',
      'better-sqlite3',
      'nodemailer',
      'pg',
    ],
  },

  { area: 'errors', files: ['src/errors.ts'], may: [] },
  { area: 'clock', files: ['src/clock.ts'], may: [] },
  { area: 'log', files: ['src/log.ts'], may: ['pino', 'pino-pretty', 'node:*'] },
  { area: 'format-values', files: ['src/dispatch/format-values.ts'], may: ['log'] },
  // Small things without a subject of their own.
  {
    area: 'leaf',
    files: [
      'src/admin-token.ts',
      'src/api-url.ts',
      'src/batcher.ts',
      'src/database-url.ts',
      'src/demo-credentials.ts',
      'src/durations.ts',
      'src/edit-distance.ts',
      'src/exact.ts',
      'src/files.ts',
      'src/ladder.ts',
      'src/log-limit.ts',
      'src/loopback.ts',
      'src/secret-file.ts',
      'src/sibling-module.ts',
      'src/token-bucket.ts',
      'src/version.ts',
    ],
    may: ['errors', 'clock', 'node:*'],
  },
  // What receiver, admin side and emulator have in common.
  {
    area: 'http',
    files: [
      'src/bare-express.ts',
      'src/connections.ts',
      'src/expect-continue.ts',
      'src/http-server.ts',
      'src/page-files.ts',
      'src/session/',
      'src/sse.ts',
    ],
    may: ['errors', 'clock', 'express', 'node:*'],
  },
  // The only one that knows of spans.
  { area: 'tracing', files: ['src/tracing.ts'], may: ['errors', '@opentelemetry/api'] },
  // No I/O.
  { area: 'signature', files: ['src/signature/'], may: ['errors', 'node:crypto'] },

  { area: 'config', files: ['src/config.ts', 'src/config/'], may: [...leaves, 'schema', 'signature', 'zod', 'node:*'] },
  { area: 'secrets', files: ['src/secrets.ts'], may: [...leaves, 'config', 'signature', 'node:*'] },

  {
    area: 'inbox/port',
    files: [
      'src/inbox/port.ts',
      'src/inbox/view-port.ts',
      'src/inbox/subscription-port.ts',
      'src/inbox/index-port.ts',
      'src/inbox/cluster-port.ts',
      'src/inbox/error-group.ts',
      'src/inbox/state-keys.ts',
    ],
    may: ['schema', 'errors', 'node:buffer'],
  },
  // What an event says, for the index: no I/O.
  { area: 'insight', files: ['src/insight/'], may: [...leaves, 'schema', 'inbox/port', 'zod'] },
  // The adapters, and beside them the bridge between threads (rpc, wire, remote-work).
  {
    area: 'inbox/sqlite',
    files: ['src/inbox/sqlite/'],
    may: [...leaves, ...inboxParts, 'insight', 'better-sqlite3', 'kysely', 'kysely/migration', 'node:*'],
  },
  {
    area: 'inbox/postgres',
    files: ['src/inbox/postgres/'],
    may: [...leaves, ...inboxParts, 'insight', 'pg', 'kysely', 'kysely/migration', 'node:*'],
  },
  {
    area: 'inbox/bridge',
    files: ['src/inbox/remote-work.ts', 'src/inbox/rpc.ts', 'src/inbox/wire.ts'],
    may: [...leaves, 'inbox/port', 'node:*'],
  },
  { area: 'inbox', files: ['src/inbox/'], may: [...leaves, 'inbox/port', 'insight', 'node:*'] },

  {
    area: 'receiver',
    files: ['src/receiver/'],
    may: [...leaves, 'signature', 'inbox/port', 'schema', 'http', 'tracing', 'raw-body', 'node:*'],
  },
  // It works in a thread of its own and reaches the inbox by the bridge, whatever store is behind it.
  {
    area: 'dispatch',
    files: ['src/dispatch/'],
    may: [
      ...leaves,
      'signature',
      'inbox/port',
      'inbox/bridge',
      'schema',
      'client',
      'tracing',
      'p-queue',
      'zod',
      'node:*',
    ],
  },
  {
    area: 'admin',
    files: ['src/admin/'],
    may: [...leaves, 'inbox/port', 'signature', 'schema', 'http', 'prom-client', 'raw-body', 'zod', 'node:*'],
  },
  // The REST service as its clients see it.
  { area: 'client', files: ['src/client/'], may: [...leaves, 'schema', 'p-queue'] },
  // What is worth a look, and what the sender makes of this receiver.
  { area: 'health', files: ['src/health/'], may: [...leaves, 'client', 'schema', 'inbox/port', 'node:*'] },
  // Registers a receiver with the service.
  {
    area: 'registration',
    files: ['src/registration/'],
    may: [...leaves, 'client', 'schema', 'inbox/port', 'node:*'],
  },
  // What a new project is made of, and what is looked at before trouble comes.
  {
    area: 'init',
    files: ['src/init/'],
    // The last three stand in the text of the files that it writes.
    may: ['errors', 'leaf', 'node:*', 'onchain-inbox', 'onchain-inbox/testing', 'src/handlers/large-trades.ts'],
  },
  {
    area: 'doctor',
    files: ['src/doctor/'],
    may: [...leaves, 'config', 'dispatch', 'inbox/sqlite', 'inbox/postgres', 'node:*'],
  },
  // Pages: built apart, for browsers.
  {
    area: 'ui',
    files: ['src/ui/'],
    may: ['react', '@mantine/core', '@mantine/hooks', '@tanstack/react-virtual', 'uplot'],
  },
  {
    area: 'console',
    files: ['src/console/'],
    may: ['ui', 'react', 'react-dom/client', '@mantine/core', '@mantine/hooks'],
  },
  {
    area: 'emulator/dashboard',
    files: ['src/emulator/dashboard/'],
    may: ['ui', 'react', 'react-dom/client', '@mantine/core', '@mantine/hooks'],
  },
  // A world is a world by its options alone: no I/O, no clock.
  {
    area: 'emulator/world',
    files: ['src/emulator/world/'],
    may: [
      'schema',
      '@noble/curves/ed25519.js',
      '@noble/hashes/sha2.js',
      '@noble/hashes/sha3.js',
      '@noble/hashes/utils.js',
      '@scure/base',
      'node:crypto',
      'node:v8',
    ],
  },
  // What outlives the process.
  {
    area: 'emulator/data',
    files: ['src/emulator/data/'],
    may: [...leaves, 'emulator', 'better-sqlite3', 'node:*'],
  },
  {
    area: 'emulator',
    files: ['src/emulator/'],
    may: [
      ...leaves,
      'emulator/world',
      'emulator/data',
      'schema',
      'signature',
      'http',
      'node:*',
      'raw-body',
      'selfsigned',
      'yaml',
      'zod',
    ],
  },

  {
    area: 'testing',
    files: ['src/testing/'],
    may: [...leaves, 'inbox', 'inbox/sqlite', 'signature', 'schema', 'receiver', 'dispatch', 'node:*'],
  },

  // What goes on beside everything else.
  { area: 'upkeep', files: ['src/disk-guard.ts', 'src/retention.ts'], may: [...leaves, 'inbox/port', 'node:*'] },
  { area: 'index', files: ['src/index.ts'], may: ['app', 'library', 'dispatch', 'errors'] },
  // What the two ways to put the parts together have in common.
  { area: 'open-inbox', files: ['src/open-inbox.ts'], may: [...leaves, ...parts] },
  {
    area: 'app',
    files: ['src/app.ts', 'src/follow-cluster.ts', 'src/service-access.ts', 'src/start-admin.ts'],
    may: [
      ...leaves,
      ...parts,
      'upkeep',
      'open-inbox',
      'receiver',
      'dispatch',
      'admin',
      'client',
      'health',
      'tracing',
      'registration',
    ],
  },
  {
    area: 'library',
    files: ['src/library/'],
    may: [...leaves, ...parts, 'tracing', 'upkeep', 'open-inbox', 'receiver', 'dispatch', 'client'],
  },
  // From one store to another: it knows the tables of both.
  {
    area: 'move',
    files: ['src/move/'],
    may: [...leaves, ...inboxParts, 'inbox/sqlite', 'inbox/postgres', 'node:*'],
  },
  // A handler of the demo's own, which lets things go wrong.
  { area: 'demo', files: ['src/demo/'], may: ['dispatch', 'errors'] },
  // Tests any receiver by HTTP alone.
  {
    area: 'conformance',
    files: ['src/cli/conformance/'],
    may: [...leaves, 'cli', 'schema', 'signature', 'testing', 'commander', 'p-queue', 'raw-body', 'zod', 'node:*'],
  },
  {
    area: 'cli',
    files: ['src/cli.ts', 'src/cli/'],
    may: [
      ...leaves,
      ...parts,
      'app',
      'receiver',
      'dispatch',
      'admin',
      'client',
      'registration',
      'init',
      'doctor',
      'emulator',
      'conformance',
      'move',
      'testing',
      'commander',
      'string-width',
    ],
  },
]

/** These two meet in the inbox only, not even by a type. */
const strangers: readonly (readonly [string, string])[] = [
  ['receiver', 'dispatch'],
  ['dispatch', 'receiver'],
]
/** The only ones that know a database. */
const driverAreas = ['inbox/sqlite', 'inbox/postgres', 'emulator/data', 'handlers']
const drivers = ['better-sqlite3', 'kysely', 'kysely/migration', 'pg']

function ruleOf(file: string): Rule | undefined {
  return rules.find(({ files }) => files.some((own) => (own.endsWith('/') ? file.startsWith(own) : file === own)))
}

/** Static imports and re-exports begin a line; a dynamic import may stand anywhere. */
function importsOf(source: string): Import[] {
  const fromClauses = source.matchAll(/^(?:import|export)\s+(type\s)?[^'"`;=()]*?\sfrom\s+['"]([^'"]+)['"]/gm)
  const bare = source.matchAll(/^import\s+['"]([^'"]+)['"]/gm)
  const dynamic = source.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)
  return [
    ...[...fromClauses].map(([, type, specifier = '']) => ({ specifier, isType: type !== undefined })),
    ...[...bare, ...dynamic].map(([, specifier = '']) => ({ specifier, isType: false })),
  ]
}

/** One line per import of the file that no rule allows. */
function violationsOf(file: string, source: string): string[] {
  const rule = ruleOf(file)
  if (rule === undefined) return [`${file}: no rule of this test is about it`]
  return importsOf(source).flatMap(({ specifier, isType }) => {
    const target = specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined
    const area = target === undefined ? specifier : (ruleOf(target)?.area ?? target)
    const isStranger = strangers.some(([from, to]) => from === rule.area && to === area)
    const isDriver = drivers.includes(specifier) && !driverAreas.includes(rule.area)
    if (isStranger || isDriver) return [`${file}: ${specifier} (not even as a type)`]
    const isNode = specifier.startsWith('node:') && rule.may.includes('node:*')
    const isAllowed = isType || isNode || area === rule.area || rule.may.includes(area)
    return isAllowed ? [] : [`${file}: ${specifier}`]
  })
}

const root = join(import.meta.dirname, '../..')
const files = globSync('{src,handlers,schema}/**/*.{ts,tsx}', { cwd: root }).toSorted()
const read = (file: string) => readFileSync(join(root, file), 'utf8')

test('every file imports only what the design lets its part import', () => {
  expect(files.flatMap((file) => violationsOf(file, read(file)))).toEqual([])
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
  ['src/dispatch/a.ts', `import type { B } from '../receiver/server.ts'`],
  ['src/receiver/a.ts', `import { b } from '../inbox/sqlite/local.ts'`],
  ['src/dispatch/a.ts', `import { b } from '../inbox/sqlite/inbox.ts'`],
  ['src/signature/a.ts', `import { readFile } from 'node:fs/promises'`],
  ['src/admin/a.ts', `import type { Database } from 'better-sqlite3'`],
  ['src/testing/a.ts', `import { b } from '../inbox/postgres/inbox.ts'`],
  ['src/library/a.ts', `import { b } from '../admin/server.ts'`],
  ['src/emulator/a.ts', `export { b } from '../app.ts'`],
  ['src/app.ts', `const b = await import('./emulator/emulator.ts')`],
  ['src/app.ts', `import './cli/serve.ts'`],
  ['schema/a.ts', `import {\n  b,\n  type C,\n} from '../src/errors.ts'`],
  ['handlers/a.ts', `import { defineHandler } from '../src/dispatch/define.ts'`],
  ['src/new-part/a.ts', ''],
])('%s with %j is found', (file, source) => {
  expect(violationsOf(file, source)).toHaveLength(1)
})
