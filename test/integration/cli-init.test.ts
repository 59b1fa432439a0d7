import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { projectFiles } from '../../src/cli/init/project.ts'
import { version } from '../../src/base/version.ts'
import { runCli } from '../support/cli.ts'
import { compileCache } from '../support/compile-cache.ts'
import { createTempDir } from '../support/temp-dir.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (...path: readonly string[]) => readFileSync(join(...path), 'utf8')

const written = [
  'package.json',
  'onchain-inbox.config.ts',
  'handlers/large-trades.ts',
  'test/large-trades.test.ts',
  'tsconfig.json',
  'Dockerfile',
  '.dockerignore',
  'compose.yaml',
  '.gitignore',
  'README.md',
  'secrets/webhook',
]

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))

/** Installs the sources of this tree as the package. */
function install(project: string): void {
  const own = join(project, 'node_modules/onchain-inbox')
  mkdirSync(own, { recursive: true })
  const { exports } = JSON.parse(read(root, 'package.json')) as { exports: object }
  const sources = JSON.stringify(exports).replaceAll(/"\.\/dist\/([^"]*?)(?:\.d\.ts|\.js)"/g, '"./$1.ts"')
  writeFileSync(join(own, 'package.json'), `{"name":"onchain-inbox","type":"module","exports":${sources}}`)
  for (const folder of ['src', 'schema', 'handlers', 'node_modules']) symlinkSync(join(root, folder), join(own, folder))
  symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'))
}

/** Runs the project's `npm test`. */
function runItsTest(project: string) {
  const { scripts } = JSON.parse(read(project, 'package.json')) as { scripts: Record<string, string> }
  const [program, ...args] = scripts['test']?.split(' ') ?? []
  expect(program).toBe('node')
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache }
  return spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8', env })
}

test('init writes a project that compiles, and whose test finds a broken handler', async () => {
  await using dir = await createTempDir()
  const project = join(dir.path, 'My Inbox')
  const { code, out, errors } = await runCli(['init', 'My Inbox', '--json'], { cwd: dir.path })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(JSON.parse(out)).toEqual({ folder: project, files: written })
  expect(filesIn(project).toSorted()).toEqual(written.toSorted())
  expect(JSON.parse(read(project, 'package.json'))).toMatchObject({
    name: 'my-inbox',
    type: 'module',
    dependencies: { 'onchain-inbox': version },
  })

  install(project)
  const passed = runItsTest(project)
  expect(passed.status, passed.stdout + passed.stderr).toBe(0)
  expect(passed.stdout).toMatch(/^. pass 1$/m)
  const compiled = spawnSync(join(root, 'node_modules/typescript/bin/tsc'), ['-p', project, '--preserveSymlinks'], {
    encoding: 'utf8',
  })
  expect(compiled).toMatchObject({ status: 0, stdout: '' })

  const handler = join(project, 'handlers/large-trades.ts')
  writeFileSync(handler, read(handler).replace('+ 1', '+ 2'))
  expect(runItsTest(project).status).toBe(1)
}, 180_000)

test('a new project passes check, and has its own private secret, which the container gets as a file', async () => {
  await using dir = await createTempDir()
  await Promise.all(['a', 'b'].map((name) => runCli(['init', name], { cwd: dir.path })))
  const { out } = await runCli(['check', '--json'], { cwd: join(dir.path, 'a') })
  const handlers = [{ name: 'large-trades', types: ['wallet.large_trade'] }]
  expect(JSON.parse(out)).toMatchObject({ handlers, warnings: [] })
  const [one = '', other = ''] = ['a', 'b'].map((name) => read(dir.path, name, 'secrets/webhook'))
  expect(one).toMatch(/^[\w-]{43}\n$/)
  expect(other).not.toBe(one)
  expect(statSync(join(dir.path, 'a/secrets/webhook')).mode & 0o777).toBe(0o600)
  const holders = filesIn(join(dir.path, 'a')).filter((file) => read(dir.path, 'a', file).includes(one.trim()))
  expect(holders).toEqual(['secrets/webhook'])

  const owner = statSync(join(dir.path, 'a/secrets/webhook')).uid
  expect(parse(read(dir.path, 'a/compose.yaml'))).toMatchObject({
    services: {
      inbox: {
        user: `${owner}:${owner}`,
        healthcheck: { test: ['CMD', 'node', '-e', expect.stringContaining('/healthz')] },
        environment: { INBOX_SECRETS_FILE: '/run/secrets/webhook' },
        volumes: ['data:/data'],
      },
    },
    secrets: { webhook: { file: './secrets/webhook' } },
  })
  expect(read(dir.path, 'a/Dockerfile')).toContain(`USER ${owner}:${owner}\n`)
})

const hasGit = spawnSync('git', ['--version']).status === 0

test.skipIf(!hasGit)('init accepts an empty repository, and git ignores secret and database (needs git)', async () => {
  await using dir = await createTempDir()
  execFileSync('git', ['init', '--quiet'], { cwd: dir.path })
  expect(await runCli(['init'], { cwd: dir.path })).toMatchObject({ code: 0 })
  mkdirSync(join(dir.path, 'data'))
  writeFileSync(join(dir.path, 'data/inbox.db'), '')
  const seen = execFileSync('git', ['ls-files', '--others', '--exclude-standard'], {
    cwd: dir.path,
    encoding: 'utf8',
  })
  expect(seen.trim().split('\n').toSorted()).toEqual(written.filter((file) => !file.startsWith('secrets')).toSorted())
})

test.skipIf(process.getuid?.() !== 0)(
  'init as root leaves all files to the owner of the folder (needs root)',
  async () => {
    await using dir = await createTempDir()
    chownSync(dir.path, 1234, 1235)
    expect(await runCli(['init', 'new'], { cwd: dir.path })).toMatchObject({ code: 0 })
    for (const file of ['', ...written, 'handlers', 'secrets']) {
      expect(statSync(join(dir.path, 'new', file)), file).toMatchObject({ uid: 1234, gid: 1235 })
    }
  },
)

test('init refuses a used folder', async () => {
  await using dir = await createTempDir()
  writeFileSync(join(dir.path, 'notes.txt'), 'mine')
  const { code, out, errors } = await runCli(['init'], { cwd: dir.path })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain(`usage: ${dir.path} is not empty (notes.txt), and init overwrites nothing:`)
  const file = await runCli(['init', 'notes.txt'], { cwd: dir.path })
  expect(file).toMatchObject({ code: 1, errors: expect.stringMatching(/^usage: .*ENOTDIR/) })
  expect(filesIn(dir.path)).toEqual(['notes.txt'])
  expect(read(dir.path, 'notes.txt')).toBe('mine')
})

test('docs/start.md shows the files and commands of a new project', () => {
  const page = read(root, 'docs/start.md')
  const files = projectFiles({ name: 'my-inbox', dependency: version, user: 1_000, secret: 'the-secret-of-the-test' })
  const contentOf = (path: string) => files.find((file) => file.path === path)?.content ?? ''
  const shown = [...page.matchAll(/^```ts\n\/\/ (\S+)\n([^]*?)^```$/gm)].map(([, path = '', code]) => [path, code])
  expect(shown.map(([path]) => path)).toEqual(['handlers/large-trades.ts', 'test/large-trades.test.ts'])
  for (const [path = '', code] of shown) expect(code).toBe(contentOf(path))
  const commands = ['npm install', 'npm test', 'npm start', 'docker compose up --build', 'npx onchain-inbox doctor']
  for (const text of [page, contentOf('README.md')]) for (const command of commands) expect(text).toContain(command)
})
