import { Client } from 'pg'
import { until } from './until.ts'

export interface Gate {
  /** Lets the act that waits, or the next one that comes, do one transaction. */
  step(): Promise<void>
  open(): Promise<void>
}

/** The act lock of src/inbox/postgres/locks.ts: acts want it alone, and those who share it are served in the order in which they came. */
const lock = '7217, 1'

/** Keeps acts on a database waiting, by a share of their lock that is handed on in between two of their transactions. */
export async function closeGate(url: string): Promise<Gate> {
  let holder = await connect(url)
  await holder.query(`SELECT pg_advisory_lock_shared(${lock})`)
  const looker = await connect(url)

  async function somebodyWaits(mode: 'ExclusiveLock' | 'ShareLock'): Promise<void> {
    await until(async () => {
      const { rowCount } = await looker.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND (classid, objid) = (${lock}) AND mode = $1 AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [mode],
      )
      return rowCount !== 0
    }, `somebody waits for a ${mode}`)
  }

  return {
    async step() {
      await somebodyWaits('ExclusiveLock')
      const next = await connect(url)
      const granted = next.query(`SELECT pg_advisory_lock_shared(${lock})`)
      await somebodyWaits('ShareLock')
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
