import { existsSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkHandlers } from '../../src/dispatch/check-handlers.ts'
import { InboxError } from '../../src/base/errors.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'

/** A folder of handlers far from this package, with these files. */
async function folderOf(files: Readonly<Record<string, string>>): Promise<TempDir> {
  const dir = await createTempDir()
  for (const [name, source] of Object.entries(files)) {
    await mkdir(dirname(join(dir.path, name)), { recursive: true })
    await writeFile(join(dir.path, name), source)
  }
  return dir
}

async function namesIn(dir: TempDir, folder = ''): Promise<string[]> {
  return (await checkHandlers({ handlersDir: join(dir.path, folder) })).map((handler) => handler.name)
}

async function refusalOf(files: Readonly<Record<string, string>>, limitMs?: number): Promise<InboxError> {
  await using dir = await folderOf(files)
  const error = await checkHandlers({ handlersDir: dir.path }, limitMs).catch((thrown: unknown) => thrown)
  if (error instanceof InboxError) return error
  throw new Error('the folder was accepted', { cause: error })
}

const plain = `export default { type: '*', run() {} }`

describe('a folder of handlers', () => {
  it('loads from anywhere without a build or node_modules', async () => {
    await using dir = await folderOf({
      'wallet.large_trade.ts': `
        import { defineHandler, type HandlerContext } from 'onchain-inbox'
        export default defineHandler({
          type: 'wallet.large_trade',
          concurrency: 3,
          async run(event, ctx: HandlerContext): Promise<void> {
            ctx.log.info({ amountUsd: event.data.amount_usd }, 'large trade')
          },
        })`,
      'script.js': plain,
      'module.mjs': plain,
    })
    const [module, script, trades] = await checkHandlers({ handlersDir: dir.path })
    expect([module?.name, script?.name, trades?.name]).toEqual(['module', 'script', 'wallet.large_trade'])
    expect(trades).toMatchObject({
      kind: 'handler',
      name: 'wallet.large_trade',
      types: ['wallet.large_trade'],
      order: 'key',
      concurrency: 3,
      timeoutMs: 30_000,
      retry: { attempts: 10, baseMs: 1000, capMs: 600_000 },
      file: join(dir.path, 'wallet.large_trade.ts'),
    })
  })

  it('ignores helpers, tests, declarations, subfolders and other files', async () => {
    const broken = 'this is no code'
    await using dir = await folderOf({
      'one.ts': plain,
      '_helper.ts': broken,
      'one.test.ts': broken,
      'one.spec.mjs': broken,
      'types.d.ts': broken,
      'old.cjs': broken,
      'notes.md': broken,
      'one.ts.bak': broken,
      'more/two.ts': broken,
      'folder.ts/three.ts': broken,
    })
    expect(await namesIn(dir)).toEqual(['one'])
  })

  it('is not run by a check', async () => {
    await using dir = await folderOf({
      'one.mjs': `
        import { writeFileSync } from 'node:fs'
        export default { type: '*', run() { writeFileSync(new URL('ran', import.meta.url), '') } }`,
    })
    expect(await namesIn(dir)).toEqual(['one'])
    expect(existsSync(join(dir.path, 'ran'))).toBe(false)
  })
})

describe('a handler file', () => {
  it('is an ES module, even against package.json', async () => {
    await using dir = await folderOf({
      'package.json': '{"type":"commonjs"}',
      'a.js': `import './_b.js'; export default { type: '*', run() {} }; await null`,
      '_b.js': 'export {}; await null',
      'c.ts': `export default { type: '*' as string, run(): void {} }; await null`,
    })
    expect(await namesIn(dir)).toEqual(['a', 'c'])
  })

  it('is an ES module if the folder or the file is a symbolic link', async () => {
    await using dir = await folderOf({
      'package.json': '{"type":"commonjs"}',
      'real/a.js': `${plain}; await null`,
      'elsewhere/b.js': `${plain}; await null`,
      // As Kubernetes mounts a ConfigMap.
      'mounted/..2026_01_31/c.js': `${plain}; await null`,
    })
    await symlink(join(dir.path, 'real'), join(dir.path, 'link'))
    await symlink(join(dir.path, 'elsewhere/b.js'), join(dir.path, 'real/b.js'))
    await symlink('..2026_01_31', join(dir.path, 'mounted/..data'))
    await symlink('..data/c.js', join(dir.path, 'mounted/c.js'))
    expect(await namesIn(dir, 'link')).toEqual(['a', 'b'])
    expect(await namesIn(dir, 'mounted')).toEqual(['c'])
  })

  it('can import the public names of this package', async () => {
    await using dir = await folderOf({
      'one.ts': `
        import { defineHandler, InboxError, RetryableError, TerminalError } from 'onchain-inbox'
        import { formatEvent } from 'onchain-inbox/format'
        import { eventTypes } from 'onchain-inbox/schema'
        for (const value of [InboxError, RetryableError, TerminalError, formatEvent]) {
          if (typeof value !== 'function') throw new Error('not a function')
        }
        export default defineHandler({ type: eventTypes, run() {} })`,
    })
    const [one] = await checkHandlers({ handlersDir: dir.path })
    expect(one?.types).toHaveLength(10)
  })

  it('resolves other packages from its own folder', async () => {
    await using dir = await folderOf({
      'app/handlers/one.ts': `
        import { name } from 'tiny'
        import old from 'old'
        export default { name: name + old.suffix, type: '*', run() {} }`,
      'app/node_modules/tiny/package.json': '{"name":"tiny","type":"module","exports":"./index.js"}',
      'app/node_modules/tiny/index.js': `export const name = 'tiny'`,
      'app/handlers/node_modules/old/package.json': '{"name":"old"}',
      'app/handlers/node_modules/old/index.js': `module.exports = { suffix: '-old' }`,
    })
    expect(await namesIn(dir, 'app/handlers')).toEqual(['tiny-old'])
  })
})

describe('an unusable folder', () => {
  it('is refused with path and reason of all files', async () => {
    const twins = { 'twin.mjs': plain, 'other.ts': `export default { name: 'twin', type: '*', run() {} }` }
    const files: Readonly<Record<string, readonly [source: string, problem: RegExp]>> = {
      'syntax.mjs': ['export default {', /cannot be loaded: SyntaxError: Unexpected end of input \(.node --check /],
      'types.ts': ['\nconst a: = 1', /cannot be loaded: invalid TypeScript \(.*types\.ts:2\): /],
      'enum.ts': ['enum A { B }', /cannot be loaded: files are loaded without a build, so .* \(enum, namespace/],
      'throws.js': [`throw new Error('no database')`, /cannot be loaded: Error: no database\s+at /],
      'parse.js': [`JSON.parse('{')`, /cannot be loaded: SyntaxError: [^]*\bparse\.js:1:6/],
      'nothing.ts': ['export const x = 1', /is not a usable handler: .* received no default export/],
      'option.js': [`export default { type: '*', run() {}, conc: 1 }`, /.* unknown option `conc`/],
      'timeout.ts': [`export default { type: '*', run() {}, timeoutMs: 0 }`, /.*timeoutMs/],
      'package.js': [`import 'nowhere'`, /.*'nowhere'.*from the folder of the file/],
      'extension.ts': [`import './_b'`, /.*relative imports need a file extension/],
      'common.js': ['module.exports = {}', /cannot be loaded: .*module is not defined in ES module scope/],
      'export.js': [`import { x } from 'onchain-inbox'`, /[^]*provide an export named 'x'/],
    }
    const sources = Object.entries(files).map(([name, [source]]) => [name, source])
    const { code, message } = await refusalOf({ ...twins, ...Object.fromEntries(sources) })
    expect(code).toBe('handler_invalid')
    expect(message).toContain('two handlers have the name twin: ')
    for (const [name, [, problem]] of Object.entries(files))
      expect(message).toMatch(new RegExp(`/${name} ?${problem.source}`))
  })

  it('is refused if it is missing or a file', async () => {
    await using dir = await folderOf({ file: '' })
    for (const name of ['nowhere', 'file']) {
      await expect(checkHandlers({ handlersDir: join(dir.path, name) })).rejects.toMatchObject({
        code: 'handler_invalid',
        message: expect.stringMatching(new RegExp(`${name} cannot be read .*INBOX_HANDLERS`)),
      })
    }
  })

  it.each([
    ['ends its process', 'process.exit(3)', /the thread ended with exit code 3/],
    ['awaits a promise that never settles', 'await new Promise(() => {})', /awaits a promise that never settles/],
  ])(
    'is refused if a file %s',
    async (_what, source, expected) => {
      const { code, message } = await refusalOf({ 'a.mjs': source }, 60_000)
      expect(code).toBe('handler_invalid')
      expect(message).toMatch(expected)
    },
    90_000,
  )
})
