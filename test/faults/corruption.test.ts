import Sqlite from 'better-sqlite3'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRandomStream, type RandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { isAcknowledged, type Delivery } from '../support/history.ts'
import { readLedger } from '../support/ledger.ts'
import type { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/until.ts'
import { createStage, inParallel } from './stage.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const pageBytes = 4_096
const walHeaderBytes = 32

interface Damage {
  readonly what: string
  /** Suffix of the damaged file. */
  readonly file: '' | '-wal' | '-shm' | '.seq'
  /** Returns the new content; null deletes the file. */
  damage(content: Buffer, random: RandomStream): Buffer | null
  /** True if no event may be lost. */
  readonly harmless?: true
}

const garbage = (length: number, random: RandomStream) =>
  Buffer.concat(Array.from({ length: Math.ceil(length / 32) }, () => random.bytes())).subarray(0, length)

function overwrite(content: Buffer, at: number, bytes: Buffer): Buffer {
  const changed = Buffer.from(content)
  bytes.copy(changed, at)
  return changed
}

const aPage = (content: Buffer, random: RandomStream) =>
  pageBytes * random.integer(1, Math.max(1, content.length / pageBytes - 1))

function flipInTheMiddle(content: Buffer, random: RandomStream): Buffer {
  const at = random.integer(Math.floor(content.length / 4), Math.floor((content.length * 3) / 4))
  return overwrite(content, at, Buffer.from([content.readUInt8(at) ^ 0x20]))
}

const damages: readonly Damage[] = [
  { what: 'its header is garbage', file: '', damage: (old, random) => overwrite(old, 0, garbage(100, random)) },
  {
    what: 'a page is garbage',
    file: '',
    damage: (old, random) => overwrite(old, aPage(old, random), garbage(pageBytes, random)),
  },
  { what: 'it is truncated', file: '', damage: (old, random) => old.subarray(0, aPage(old, random)) },
  { what: 'it is empty', file: '', damage: () => Buffer.alloc(0) },
  { what: 'a byte has flipped', file: '-wal', damage: flipInTheMiddle },
  { what: 'its header is zeros', file: '-wal', damage: (old) => overwrite(old, 0, Buffer.alloc(walHeaderBytes)) },
  { what: 'it is garbage', file: '-wal', damage: (old, random) => garbage(Math.max(old.length, 50_000), random) },
  {
    what: 'it is garbage',
    file: '-shm',
    damage: (old, random) => garbage(Math.max(old.length, 32_768), random),
    harmless: true,
  },
  { what: 'it is deleted', file: '-shm', damage: () => null, harmless: true },
  { what: 'it is deleted', file: '.seq', damage: () => null, harmless: true },
]

/** Acknowledged events in the file and in the -wal. */
async function makeImage(ends: 'stop' | 'kill', random: RandomStream) {
  const stage = await createStage({ seed, keys: 50 })
  const { sidecar, client, load } = stage
  await sidecar.start()
  await stage.acknowledge(random.integer(50, 150))
  await load.heal()
  await sidecar.drained()
  await sidecar.stop()
  await sidecar.start()
  await stage.acknowledge(random.integer(50, 150))
  await load.heal()
  await sidecar[ends]()
  const image = join(sidecar.dir, 'image')
  await mkdir(image)
  for (const name of await databaseFiles(sidecar)) await copyFile(join(sidecar.dir, name), join(image, name))
  const acknowledged = new Map(
    client.requests.filter((request) => request.op === 'deliver' && isAcknowledged(request)).map((r) => [r.id, r]),
  )
  return {
    ...stage,
    acknowledged,
    async restore(): Promise<void> {
      for (const name of await databaseFiles(sidecar)) await rm(join(sidecar.dir, name))
      for (const name of await readdir(image)) await copyFile(join(image, name), join(sidecar.dir, name))
    },
  }
}

const databaseFiles = async ({ dir }: Sidecar) =>
  (await readdir(dir)).filter((name) => name.startsWith('inbox.db') && !name.includes('.replaced'))

const isLoud = (output: string) =>
  /accepted events are missing|database damaged|exiting after failure|"database_corrupt"/.test(output)

/** True if the check of the whole file has succeeded. */
function isChecked(file: string): boolean {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare(`SELECT value FROM meta WHERE name = 'check_due'`).pluck().get() === 0
  } catch {
    return false
  } finally {
    db.close()
  }
}

type Verdict = 'refused' | 'loud' | 'whole'

test.each(['stop', 'kill'] as const)(
  `damaged files after a %s are refused, or missing events are reported and accepted again (SEED=${seed})`,
  async (ends) => {
    console.log(`SEED=${seed}`)
    const random = createRandomStream(seed, `corruption after ${ends}`)
    await using image = await makeImage(ends, random)
    const { sidecar, acknowledged } = image
    const verdicts: string[] = []
    const shuffled = damages.map((damage) => ({ damage, at: random.uniform() })).toSorted((a, b) => a.at - b.at)

    for (let round = 0; round < counts.corruptions / 2; round += 1) {
      const { damage } = shuffled[round % shuffled.length] ?? random.pick(shuffled)
      await image.restore()
      const path = sidecar.databaseFile + damage.file
      const old = existsSync(path) ? await readFile(path) : Buffer.alloc(0)
      if (damage.file === '-wal' && old.length === 0 && damage.what !== 'it is garbage') continue
      const damaged = damage.damage(old, random)
      if (damaged === null) await rm(path, { force: true })
      else await writeFile(path, damaged)

      const name = `round ${round}, after a ${ends}: inbox.db${damage.file}, ${damage.what}`
      const verdict = await judge(name)
      verdicts.push(`${name}: ${verdict}`)
      if (damage.harmless) expect(verdict, name).toBe('whole')
    }
    console.log(verdicts.join('\n'))

    async function judge(name: string): Promise<Verdict> {
      const before = sidecar.output.text.length
      const output = () => sidecar.output.text.slice(before)
      sidecar.launch()
      const isReady = await sidecar.ready().then(
        () => true,
        () => false,
      )
      if (!isReady) {
        expect(await sidecar.exited(), name).toEqual({ code: 1, signal: null })
        expect(output(), name).toMatch(
          /"code":"database_corrupt","message":"[^"]*inbox\.db is damaged.*Restore a backup/,
        )
        return 'refused'
      }
      const missing = await replayAll()
      if (ends === 'kill') await until(() => isLoud(output()) || isChecked(sidecar.databaseFile), `${name} is checked`)
      await sidecar.stop()
      if (isLoud(output())) return 'loud'
      expect(missing, `${name}: missing without a report`).toEqual([])
      // A closed file is not checked at the next start. The damage shows when it is read.
      const ledger = await readLedger(sidecar.databaseFile).catch((error: unknown) => String(error))
      if (typeof ledger === 'string') {
        expect(ledger, name).toMatch(/malformed|damaged/)
        return 'loud'
      }
      const { stored } = ledger
      const digests = new Map(stored.map(({ id, digest }) => [id, digest]))
      expect([...acknowledged.values()].filter(({ id, digest }) => digests.get(id) !== digest)).toEqual([])
      return 'whole'
    }

    /** Replays all deliveries. Returns the ids that were missing. */
    async function replayAll(): Promise<string[]> {
      const missing: string[] = []
      await inParallel(acknowledged.values(), async ({ delivery }) => {
        if ((await deliver(delivery)) === 'accepted') missing.push(delivery.id)
      })
      return missing
    }

    async function deliver({ raw, signature }: Delivery): Promise<string> {
      try {
        const headers = { 'X-Service-Signature': signature }
        const response = await fetch(sidecar.url, { method: 'POST', headers, body: Uint8Array.from(raw) })
        const answer = (await response.json()) as { status?: string }
        return answer.status ?? 'refused'
      } catch {
        return 'reset'
      }
    }
  },
  1_800_000,
)
