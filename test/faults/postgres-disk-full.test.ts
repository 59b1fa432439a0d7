import { execFile } from 'node:child_process'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { checkLedger, ledgerHandler, readCluster } from '../support/cluster-ledger.ts'
import { type Delivery, isAcknowledged, RecordingClient, toDelivery } from '../support/history.ts'
import { ask, startPostgres } from '../support/postgres.ts'
import { jsonOf, rawRequest } from '../support/raw-http.ts'
import { Sidecar } from '../support/sidecar.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { canMount } from '../support/tools.ts'
import { aDisk } from './disk.ts'

/** Fills the rest of a disk with a file. */
async function fill(path: string): Promise<void> {
  await using file = await open(path, 'a')
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) await file.write(Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

/** A large event, so that free space within pages is used up soon. */
function anEvent(n: number): Delivery {
  const id = `evt_${n}`
  const wallet = `0x${n % 7}`
  const data = { wallet_address: wallet, network: 'ethereum', note: 'x'.repeat(20_000) }
  return toDelivery(eventBytes({ id, data }), { id, key: wallet })
}

const workers = 8

test.skipIf(!canMount())(
  'with PostgreSQL on a full disk, serve returns 503 store_full until there is space, and loses nothing without a restart (needs root)',
  async () => {
    await using disk = await aDisk('size=80m,mode=755')
    const folder = join(disk.path, 'of-postgres')
    await mkdir(folder)
    await using postgres = await startPostgres()
    // The server runs as this user.
    await promisify(execFile)('chown', ['postgres:', folder])
    const root = await postgres.createDatabase('inbox')
    await ask(root, `CREATE TABLESPACE small LOCATION '${folder}'`)
    await ask(root, 'CREATE DATABASE small TABLESPACE small')
    const url = Object.assign(new URL(root), { pathname: '/small' }).href
    await using sidecar = await Sidecar.start({
      handlers: { 'ledger.mjs': ledgerHandler },
      env: { INBOX_DATABASE_URL: url },
    })
    using client = new RecordingClient({ url: () => sidecar.url })
    let sent = 0
    /** Sends each event once until `isEnough`. Returns the rejected ones. */
    const sendWhile = async (isEnough: () => boolean) => {
      const rejected: Delivery[] = []
      const work = async () => {
        while (!isEnough()) {
          const event = anEvent(sent++)
          if (!isAcknowledged(await client.deliver(event))) rejected.push(event)
        }
      }
      await Promise.all(Array.from({ length: workers }, work))
      return rejected
    }

    await sendWhile(() => client.requests.length > 50)
    const filler = join(disk.path, 'filler')
    await fill(filler)
    const rejected = await sendWhile(() => client.requests.filter(({ answer }) => answer === 503).length > 50)
    expect(new Set(client.requests.map(({ answer }) => answer))).toEqual(new Set([200, 503]))
    const answer = await rawRequest(Number(new URL(sidecar.url).port), delivery(anEvent(-1).raw))
    expect([answer.status, jsonOf(answer)]).toMatchObject([503, { error: { code: 'store_full' } }])
    expect(answer.headers.has('retry-after')).toBe(true)

    await rm(filler)
    for (const event of rejected) expect(await client.deliver(event)).toMatchObject({ answer: 200 })
    expect(sidecar.lives).toHaveLength(1)
    await sidecar.drained()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    expect(checkLedger(client.requests, await readCluster(url))).toEqual([])
  },
)
