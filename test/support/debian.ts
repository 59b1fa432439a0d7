import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { has } from './tools.ts'
import { until } from './until.ts'

const run = promisify(execFile)

/** A program and its environment. */
export interface Program {
  readonly file: string
  readonly env: NodeJS.ProcessEnv
}

/** A folder with programs, and their environment. */
export interface Programs {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

/** A program that is installed, or from Debian packages that are downloaded once to a temporary folder. Null if neither is available. */
export async function debianProgram(name: string, packages: readonly string[]): Promise<Program | null> {
  if (has(name)) return { file: name, env: process.env }
  const root = await debianRoot(name, packages)
  if (root === null) return null
  const file = ['usr/bin', 'usr/sbin'].map((part) => join(root.folder, part, name)).find(existsSync)
  return file === undefined ? null : { file, env: root.env }
}

/** Version of PostgreSQL in Debian 12. */
export const debianPostgresMajor = 15

/** The programs of PostgreSQL, found like `debianProgram`. */
export async function debianPostgres(): Promise<Programs | null> {
  const within = `usr/lib/postgresql/${debianPostgresMajor}/bin`
  const installed = join('/', within)
  if (existsSync(join(installed, 'postgres'))) return { folder: installed, env: process.env }
  const libraries = ['libpq5', 'libldap-2.5-0', 'libsasl2-2', 'libicu72', 'libxml2', 'liblz4-1', 'libzstd1', 'tzdata']
  const root = await debianRoot('postgres', [`postgresql-${debianPostgresMajor}`, ...libraries])
  return root === null ? null : { folder: join(root.folder, within), env: root.env }
}

/** Unpacks packages into a folder that acts as `/`. Null if they are not available. */
async function debianRoot(name: string, packages: readonly string[]): Promise<Programs | null> {
  if (process.platform !== 'linux' || !has('apt-get') || !has('dpkg-deb')) return null
  const folder = join(tmpdir(), `onchain-inbox-debian-${userInfo().uid}`, name)
  try {
    if (!existsSync(folder)) await unpack(folder, packages)
  } catch {
    return null
  }
  const libraries = join(folder, 'usr/lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`)
  return { folder, env: { ...process.env, LD_LIBRARY_PATH: libraries } }
}

async function unpack(folder: string, packages: readonly string[]): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true })
  const work = await mkdtemp(`${folder}-`)
  try {
    const options = ['lists', 'cache'].map((part) => join(work, 'apt', part))
    for (const path of options) await mkdir(join(path, 'partial'), { recursive: true })
    const [lists, cache] = options
    // Uses separate package lists, because the machine's lists may be missing and must not change.
    const own = ['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${cache}`, '-o', 'APT::Sandbox::User=']
    await run('apt-get', [...own, 'update', '-qq'], { timeout: 60_000 })
    await run('apt-get', [...own, 'download', '-qq', ...packages], { cwd: work, timeout: 60_000 })
    for (const file of await readdir(work))
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', file, 'root'], { cwd: work })
    await rename(join(work, 'root'), folder).catch((error: unknown) => {
      // Another test has unpacked it first.
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Starts a server, as user `who`. Resolves when it accepts connections on its port. */
export async function startServer(
  { file, env }: Program,
  args: readonly string[],
  port: number,
  who: { readonly uid?: number; readonly gid?: number } = {},
) {
  const child = spawn(file, args, { ...who, env, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  child.on('error', () => {})
  await until(() => child.exitCode !== null || canConnect(port), `${file} takes connections`)
  if (child.exitCode !== null) throw new Error(`${file} ended with ${child.exitCode}`)
  return {
    process: child,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
