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
  /** A database with all that it has on the small disk. */
  readonly url: string
  /** Takes what is left, and what becomes free meanwhile. */
  fill(): Promise<void>
  makeSpace(): Promise<void>
}

/** A server whose tables, or all of whose files, are on a disk of its own. Only as root. */
async function startOnSmallDisk(what: 'tables' | 'all'): Promise<SmallDiskPostgres> {
  await using stack = new AsyncDisposableStack()
  const disk = stack.use(await aDisk('size=160m,mode=755'))
  const folder = join(disk.path, 'of-postgres')
  await mkdir(folder)
  const postgres = stack.use(await startPostgres(what === 'all' ? { dataDir: join(folder, 'data') } : {}))
  let url = await postgres.createDatabase('inbox')
  if (what === 'tables') {
    // The user that the server runs as.
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
/** Large, so that what is free within pages is soon used. */
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

/** Sends events, each once, until `isEnough`. Gives those that were refused. */
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

/** Everything that was refused is taken now; what was acknowledged is there, once, and was handled in order. */
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
  test('refuses events with 503 store_full, and takes them again once there is space, without a restart and without a loss', async () => {
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

  test('that holds its log as well ends; events are refused until it was started again, and none is lost', async () => {
    await using disk = await startOnSmallDisk('all')
    const { postgres, url } = disk
    await using sidecar = await Sidecar.start({ handlers, env: { INBOX_DATABASE_URL: url } })
    using client = new RecordingClient({ url: () => sidecar.url })
    await sendWhile(client, 0, () => client.requests.length > 50)
    await disk.fill()
    let isOver = false
    const sending = sendWhile(client, 1_000, () => isOver)
    // Nothing but log, until there is no room for it: then it panics, tries to recover, and finds no room for that either.
    await expect(fillLog(url)).rejects.toThrow()
    await until(() => !postgres.isRunning(), 'PostgreSQL has given up')
    await until(async () => (await readiness(sidecar)) === 503, 'readiness says so')
    isOver = true
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
