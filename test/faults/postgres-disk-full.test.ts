import { describe, expect, test } from 'vitest'
import { jsonOf, rawRequest } from '../support/raw-http.ts'
import { checkLedger, ledgerHandler, readCluster } from '../support/cluster-ledger.ts'
import { type Delivery, isAcknowledged, RecordingClient, toDelivery } from '../support/history.ts'
import { ask, startPostgres, type TestPostgres } from '../support/postgres.ts'
import { Sidecar } from '../support/sidecar.ts'
import { delivery } from '../support/signed.ts'
import { canMount } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { execFile } from 'node:child_process'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aDisk } from './disk.ts'

const run = promisify(execFile)

interface SmallDiskPostgres extends AsyncDisposable {
  readonly postgres: TestPostgres
  /** A database whose files are on the small disk. */
  readonly url: string
  /** Fills the disk. */
  fill(): Promise<void>
  makeSpace(): Promise<void>
}

/** A server with its tables, or all of its files, on a small disk. Needs root. */
async function startOnSmallDisk(what: 'tables' | 'all'): Promise<SmallDiskPostgres> {
  await using stack = new AsyncDisposableStack()
  const disk = stack.use(await aDisk('size=160m,mode=755'))
  const folder = join(disk.path, 'of-postgres')
  await mkdir(folder)
  const postgres = stack.use(await startPostgres(what === 'all' ? { dataDir: join(folder, 'data') } : {}))
  let url = await postgres.createDatabase('inbox')
  if (what === 'tables') {
    // The server runs as this user.
    await run('chown', ['postgres:', folder])
    await ask(url, `CREATE TABLESPACE small LOCATION '${folder}'`)
    await ask(url, 'CREATE DATABASE small TABLESPACE small')
    url = Object.assign(new URL(url), { pathname: '/small' }).href
  }
  const filler = join(disk.path, 'filler')
  const disposal = stack.move()
  return {
    postgres,
    url,
    async fill() {
      await using file = await open(filler, 'a')
      await writeUntilFull(file)
    },
    makeSpace: () => rm(filler),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

async function writeUntilFull(file: FileHandle): Promise<void> {
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) await file.write(Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

const workers = 8
/** Large, so that free space within pages is used up soon. */
const noteBytes = 20_000

function anEvent(n: number): Delivery {
  const data = {
    wallet_address: `0x${(n % 7).toString(16).padStart(40, '0')}`,
    network: 'ethereum',
    note: 'x'.repeat(noteBytes),
  }
  const envelope = { id: `evt_${n}`, type: 'wallet.large_trade', created_at: '2026-01-31T14:03:22.123Z', data }
  const raw = JSON.stringify(envelope)
  return toDelivery(Buffer.from(raw), { id: envelope.id, key: data.wallet_address })
}

/** Sends each event once until `isEnough`. Returns the rejected ones. */
async function sendWhile(client: RecordingClient, from: number, isEnough: () => boolean): Promise<Delivery[]> {
  const refused: Delivery[] = []
  let sent = from
  const work = async () => {
    while (!isEnough()) {
      const event = anEvent(sent++)
      if (!isAcknowledged(await client.deliver(event))) refused.push(event)
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return refused
}

const handlers = { 'ledger.mjs': ledgerHandler }
const readiness = async (sidecar: Sidecar) => (await fetch(new URL('/readyz', sidecar.url))).status

/** Rejected events are accepted now. Acknowledged ones are stored once and were handled in order. */
async function expectNothingLost(
  sidecar: Sidecar,
  client: RecordingClient,
  refused: readonly Delivery[],
  url: string,
): Promise<void> {
  for (const event of refused) expect(await client.deliver(event)).toMatchObject({ answer: 200 })
  expect(sidecar.lives).toHaveLength(1)
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  expect(checkLedger(client.requests, await readCluster(url))).toEqual([])
}

describe.skipIf(!canMount())('PostgreSQL on a full disk (needs root, to mount a small one)', () => {
  test('returns 503 store_full until there is space, and loses nothing without a restart', async () => {
    await using disk = await startOnSmallDisk('tables')
    await using sidecar = await Sidecar.start({ handlers, env: { INBOX_DATABASE_URL: disk.url } })
    using client = new RecordingClient({ url: () => sidecar.url })
    await sendWhile(client, 0, () => client.requests.length > 50)
    await disk.fill()
    const refusals = () => client.requests.filter(({ answer }) => answer === 503).length
    const refused = await sendWhile(client, 1_000, () => refusals() > 50)
    expect(client.requests.filter(isAcknowledged).length).toBeGreaterThan(50)
    expect(new Set(client.requests.map(({ answer }) => answer))).toEqual(new Set([200, 503]))
    const answer = await rawRequest(Number(new URL(sidecar.url).port), delivery(anEvent(999).raw))
    expect([answer.status, jsonOf(answer)]).toMatchObject([503, { error: { code: 'store_full' } }])
    expect(answer.headers.has('retry-after')).toBe(true)

    await disk.makeSpace()
    await expectNothingLost(sidecar, client, refused, disk.url)
  })

  test('returns 503 while the server is down because its log has no space, and loses nothing', async () => {
    await using disk = await startOnSmallDisk('all')
    const { postgres, url } = disk
    await using sidecar = await Sidecar.start({ handlers, env: { INBOX_DATABASE_URL: url } })
    using client = new RecordingClient({ url: () => sidecar.url })
    await sendWhile(client, 0, () => client.requests.length > 50)
    await disk.fill()
    let hasEnded = false
    const sending = sendWhile(client, 1_000, () => hasEnded)
    // Without space for its log, the server panics, and can't recover either.
    await expect(fillLog(url)).rejects.toThrow()
    await until(() => !postgres.isRunning(), 'PostgreSQL has ended')
    await until(async () => (await readiness(sidecar)) === 503, '/readyz returns 503')
    hasEnded = true
    const refused = await sending
    expect(refused.length).toBeGreaterThan(0)
    expect(new Set(client.requests.map(({ answer }) => answer))).toEqual(new Set([200, 503]))

    await disk.makeSpace()
    await postgres.start()
    await until(async () => (await readiness(sidecar)) === 200, 'ready again', 5_000)
    await expectNothingLost(sidecar, client, refused, url)
  })
})

async function fillLog(url: string): Promise<void> {
  for (;;) await ask(url, `SELECT pg_logical_emit_message(false, 'filler', repeat('x', 1000000))`)
}
