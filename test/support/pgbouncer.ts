import { chmod, chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { debianProgram, startServer, type Program } from './debian.ts'
import { withoutRoot } from './postgres-programs.ts'
import { freePort } from './stream-sinks.ts'
import { createTempDir } from './temp-dir.ts'

/** PgBouncer; null if it is not available. */
export function findBouncer(): Promise<Program | null> {
  return debianProgram('pgbouncer', ['pgbouncer', 'libevent-2.1-7', 'libc-ares2'])
}

export type TestBouncer = Awaited<ReturnType<typeof startBouncer>>

/** A PgBouncer in transaction mode, in front of the server on a port. */
export async function startBouncer(program: Program, serverPort: number, sessions: number) {
  const dir = await createTempDir()
  const port = await freePort()
  const who = withoutRoot()
  const settings = join(dir.path, 'pgbouncer.ini')
  const users = join(dir.path, 'users')
  const logFile = join(dir.path, 'log')
  // By default, PgBouncer waits 15 s after an outage, and replicas wait with it.
  const lines = `
[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
logfile = ${logFile}
pool_mode = transaction
default_pool_size = ${sessions}
server_login_retry = 1
`
  await writeFile(settings, lines)
  await writeFile(users, '"tester" "of-the-test"\n')
  await chmod(dir.path, 0o755)
  if (who.uid !== undefined && who.gid !== undefined) await chown(dir.path, who.uid, who.gid)
  const start = () => startServer(program, [settings], port, who)
  let running = await start()
  return {
    /** URL of the same database through PgBouncer. */
    through(url: string) {
      const changed = new URL(url)
      changed.port = String(port)
      return changed.href
    },
    /** Kills it, and starts it on the same port after `downMs`. */
    async restart(downMs = 0) {
      await running[Symbol.asyncDispose]()
      await wait(downMs)
      running = await start()
    },
    /** Text of its log. */
    log: () => readFile(logFile, 'utf8'),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}
