import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createRandomStream, type RandomStream } from '../../src/emulator/random.ts'
import { openInbox, type OpenedInbox } from '../../src/inbox/open.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { anEvent, ordered } from '../conformance/stage.ts'
import { counts } from '../counts.ts'
import { digestOf } from '../support/history.ts'
import { readLedger } from '../support/ledger.ts'
import { recordingLog } from '../support/recording-log.ts'
import { databaseFiles, rowsOf } from '../support/sqlite-files.ts'
import { until } from '../support/until.ts'
import { seed } from './stage.ts'

const { newDatabaseFile, copyDatabase } = databaseFiles()

const pageBytes = 4_096
const walHeaderBytes = 32

interface Damage {
  readonly what: string
  /** Suffix of the damaged file. */
  readonly file: '' | '-wal' | '-shm' | '.seq'
  /** Returns the new content; null deletes the file. */
  readonly damage: (content: Buffer, random: RandomStream) => Buffer | null
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

const suffixes = ['', '-wal', '-shm', '.seq']
const events = Array.from({ length: 200 }, (_, n) => anEvent(`e${n}`, { key: `k${n % 50}` }))

/** A database after a stop, or after a kill with half of the events in the -wal. */
async function makeImage(ends: 'stop' | 'kill'): Promise<string> {
  const file = newDatabaseFile()
  for (const half of [events.slice(0, 100), events.slice(100)]) {
    const inbox = await createSqliteInbox({ file })
    await inbox.register([ordered])
    // In several commits, so that a part of the -wal can be lost.
    for (let n = 0; n < half.length; n += 5) await inbox.accept(half.slice(n, n + 5))
    const image = copyDatabase(file, suffixes)
    await inbox.close()
    if (ends === 'kill' && half[0] !== events[0]) return image
  }
  return file
}

/** True if the check of the whole file has succeeded. */
function isChecked(file: string): boolean {
  try {
    return rowsOf(file, `SELECT 1 FROM meta WHERE name = 'check_due' AND value = 0`).length === 1
  } catch {
    return false
  }
}

/** `refused`: the inbox doesn't open. `loud`: it reports the damage. `whole`: no event is missing. */
async function judge(file: string, ends: 'stop' | 'kill'): Promise<'refused' | 'loud' | 'whole'> {
  const { log, lines } = recordingLog()
  let opened: OpenedInbox
  try {
    opened = await openInbox({ database: { kind: 'sqlite', file }, clock: systemClock, log })
  } catch (error) {
    expect(error).toMatchObject({
      code: 'database_corrupt',
      message: expect.stringMatching(/inbox\.db is damaged.*Restore a backup/),
    })
    return 'refused'
  }
  const { inbox } = opened
  let hasFailed = false
  inbox.onFailure(() => (hasFailed = true))
  const isLoud = () => hasFailed || lines.some(({ message }) => /are missing|database damaged/.test(message))
  const replayed = await inbox.accept(events).catch(() => [])
  if (ends === 'kill') await until(() => isLoud() || isChecked(file), 'the file is checked')
  await inbox.close()
  if (isLoud()) return 'loud'
  expect(replayed.filter((result) => result === 'accepted')).toEqual([])
  // A closed file is not checked at the next start. The damage shows when it is read.
  const ledger = await readLedger(file).catch((error: unknown) => String(error))
  if (typeof ledger === 'string') {
    expect(ledger).toMatch(/malformed|damaged/)
    return 'loud'
  }
  const digests = new Map(ledger.stored.map(({ id, digest }) => [id, digest]))
  expect(events.filter(({ id, raw }) => digests.get(id) !== digestOf(raw))).toEqual([])
  return 'whole'
}

test.each(['stop', 'kill'] as const)(
  `damaged files after a %s are refused, or missing events are reported and accepted again (SEED=${seed})`,
  async (ends) => {
    console.log(`SEED=${seed}`)
    const random = createRandomStream(seed, `corruption after ${ends}`)
    const image = await makeImage(ends)
    const first = random.integer(0, damages.length - 1)
    for (let round = 0; round < counts.corruptions / 2; round += 1) {
      const { what, file, damage, harmless } = damages[(first + round) % damages.length]!
      const path = copyDatabase(image, suffixes)
      const old = existsSync(path + file) ? readFileSync(path + file) : Buffer.alloc(0)
      if (file === '-wal' && old.length === 0 && what !== 'it is garbage') continue
      const damaged = damage(old, random)
      if (damaged === null) rmSync(path + file, { force: true })
      else writeFileSync(path + file, damaged)
      const name = `round ${round}, after a ${ends}: inbox.db${file}, ${what}`
      const verdict = await judge(path, ends).catch((error: unknown) => {
        throw new Error(name, { cause: error })
      })
      if (harmless) expect(verdict, name).toBe('whole')
    }
  },
  1_800_000,
)
