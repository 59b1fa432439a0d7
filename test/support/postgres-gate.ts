import { Client } from 'pg'
import { until } from './until.ts'

export type Gate = Awaited<ReturnType<typeof closeGate>>

/** The action lock of locks.ts. PostgreSQL grants it in order of request. */
const lock = '7217, 1'

/** Blocks operator actions with a shared lock. `step` hands it to another connection, and one transaction runs in between. */
export async function closeGate(url: string) {
  let holder = await connect(url)
  await holder.query(`SELECT pg_advisory_lock_shared(${lock})`)
  const looker = await connect(url)

  async function hasWaiter(mode: 'ExclusiveLock' | 'ShareLock'): Promise<void> {
    await until(async () => {
      const { rowCount } = await looker.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND (classid, objid) = (${lock}) AND mode = $1 AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [mode],
      )
      return rowCount !== 0
    }, `a connection waits for a ${mode}`)
  }

  return {
    /** Lets the waiting action, or the next one, run one transaction. */
    async step() {
      await hasWaiter('ExclusiveLock')
      const next = await connect(url)
      const granted = next.query(`SELECT pg_advisory_lock_shared(${lock})`)
      await hasWaiter('ShareLock')
      await holder.end()
      await granted
      holder = next
    },
    async open() {
      await holder.end()
      await looker.end()
    },
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}
