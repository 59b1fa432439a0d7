import Sqlite from 'better-sqlite3'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/inbox/sqlite/migrate.ts'
import { migrations } from '../../src/inbox/sqlite/migrations.ts'
import { eventDelivery, isAcknowledged, RecordingClient, type Delivery } from '../support/history.ts'
import { effectsHandler } from '../support/ledger.ts'
import { jsonOf, rawRequest } from '../support/raw-http.ts'
import { Sidecar } from '../support/sidecar.ts'
import { delivery } from '../support/signed.ts'
import { canMount } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { aDisk } from './disk.ts'
import { lossesOf } from './power-loss-check.ts'

type Disk = Awaited<ReturnType<typeof aDisk>>

function sidecarOn(disk: Disk, env: Readonly<Record<string, string>> = {}): Promise<Sidecar> {
  return Sidecar.create({
    env: { INBOX_DATABASE_URL: `sqlite:${disk.file}`, INBOX_DISK_RESERVE: '0', ...env },
    handlers: { 'effects.mjs': effectsHandler() },
  })
}

const anEvent = (n: number, bytes: number) => eventDelivery({ id: `evt_${n}`, data: { note: 'x'.repeat(bytes) } })

const workers = 8
const readiness = async (sidecar: Sidecar) => (await fetch(new URL('/readyz', sidecar.url))).status

/** Sends each event once until 50 in a row are rejected and the store is full. Returns the rejected ones. */
async function sendUntilFull(client: RecordingClient, sidecar: Sidecar): Promise<Delivery[]> {
  const refused: Delivery[] = []
  let sent = 0
  let refusedInARow = 0
  const work = async () => {
    // A busy machine rejects deliveries as well, for a moment.
    while (refusedInARow < 50 || (await readiness(sidecar)) === 200) {
      const event = anEvent(sent++, 4_000)
      if (isAcknowledged(await client.deliver(event))) {
        refusedInARow = 0
      } else {
        refused.push(event)
        refusedInARow += 1
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return refused
}

async function resend(client: RecordingClient, events: readonly Delivery[]): Promise<void> {
  for (const event of events) await until(async () => isAcknowledged(await client.deliver(event)), event.id)
}

describe.skipIf(!canMount())('a full disk (needs root)', () => {
  test('returns 503, and accepts events again once space is freed, without a restart; a kill loses nothing', async () => {
    await using disk = await aDisk('size=2m')
    await using sidecar = await sidecarOn(disk)
    await sidecar.start()
    using client = new RecordingClient({ url: () => sidecar.url })

    const refused = await sendUntilFull(client, sidecar)
    expect(client.requests.filter(isAcknowledged).length).toBeGreaterThan(0)
    expect(new Set(client.requests.map(({ answer }) => answer))).toEqual(new Set([200, 503]))
    const port = Number(new URL(sidecar.url).port)
    const answer = await rawRequest(port, delivery(anEvent(-1, 4_000).raw))
    expect([answer.status, jsonOf(answer)]).toMatchObject([503, { error: { code: 'store_full' } }])
    expect(answer.headers.has('retry-after')).toBe(true)

    await disk.remount('size=64m')
    await until(async () => (await readiness(sidecar)) === 200, 'ready again', 5_000)
    await resend(client, refused)
    expect(sidecar.lives).toHaveLength(1)

    await sidecar.kill()
    await disk.fill()
    expect(await sidecar.run()).toEqual({ code: 75, signal: null })
    expect(sidecar.output.text).toMatch(/"code":"store_full","message":".*inbox\.db cannot be opened: its disk is full/)
    await disk.remount('size=128m')
    await sidecar.start()
    await sidecar.drained()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    expect(await lossesOf(sidecar, client, disk.file)).toEqual([])
  })
})

test.skipIf(!canMount())(
  'an upgrade without space for its copy reports the needed bytes and changes nothing (needs root)',
  async () => {
    await using disk = await aDisk('size=4m')
    const db = new Sqlite(disk.file)
    db.pragma('journal_mode = WAL')
    await migrate(db, disk.file, migrations.slice(0, -1))
    db.prepare('INSERT INTO body (seq, total, raw) VALUES (1, 1, zeroblob(1000000))').run()
    db.close()
    await disk.shrink()
    const bytes = readFileSync(disk.file)
    await using sidecar = await sidecarOn(disk)
    expect(await sidecar.run()).toEqual({ code: 75, signal: null })
    expect(sidecar.output.text).toMatch(
      /"code":"store_full","message":"upgrading .*inbox\.db needs \d+ bytes of free space in its folder, for a copy of \d+ bytes and its changes; \d+ are free/,
    )
    expect(readFileSync(disk.file).equals(bytes)).toBe(true)
    expect(existsSync(`${disk.file}.before-${String(migrations.length).padStart(4, '0')}`)).toBe(false)

    await disk.remount('size=64m')
    await sidecar.start()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  },
)

test.skipIf(!canMount())('a nearly full disk keeps its reserve: deliveries are rejected (needs root)', async () => {
  await using disk = await aDisk('size=64m')
  await using sidecar = await sidecarOn(disk, { INBOX_DISK_RESERVE: '60mb' })
  await sidecar.start()
  using client = new RecordingClient({ url: () => sidecar.url })
  const refused = await sendUntilFull(client, sidecar)
  expect(new Set(client.requests.map(({ answer }) => answer))).toEqual(new Set([200, 503]))
  await sidecar.log('disk nearly full, deliveries rejected')
  const ready = await fetch(new URL('/readyz', sidecar.url))
  expect([ready.status, await ready.json()]).toMatchObject([503, { error: { code: 'store_full' } }])
  expect(await disk.freeBytes()).toBeGreaterThan(32 * 1024 * 1024)

  await disk.remount('size=200m')
  await until(async () => (await readiness(sidecar)) === 200, 'ready again', 5_000)
  await resend(client, refused)
})

test.skipIf(!canMount())('a read-only disk is reported at the start (needs root)', async () => {
  await using disk = await aDisk('size=8m')
  await using sidecar = await sidecarOn(disk)
  await sidecar.start()
  await sidecar.kill()
  await disk.remount('ro')
  expect(await sidecar.run()).toEqual({ code: 75, signal: null })
  expect(sidecar.output.text).toMatch(
    /"code":"store_unavailable","message":".*inbox\.db cannot be opened: .*writable by this user"/,
  )
})
