import Sqlite from 'better-sqlite3'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { digestOf } from '../support/history.ts'
import { effectsHandler, readLedger, type StoredCopy } from '../support/ledger.ts'
import { probe, probeEmptySecret, probeFileLimit, probeHonestAck, type Subject } from '../support/probes.ts'
import { serveCommand } from '../support/sidecar.ts'
import { canTrace } from '../support/tools.ts'

const flawedReceiver = fileURLToPath(new URL('../fixtures/flawed/flawed-receiver.ts', import.meta.url))

function receiverWith(flaw: string): Subject {
  return {
    command: [process.execPath, flawedReceiver],
    options: { env: { FLAW: flaw } },
    finish: (sidecar) => sidecar.stop(),
    async readStored({ databaseFile }) {
      const db = new Sqlite(databaseFile)
      const rows = db.prepare<[], { seq: number; id: string; raw: Buffer }>('SELECT seq, id, raw FROM event').all()
      db.close()
      return rows.map(({ seq, id, raw }): StoredCopy => ({ seq, id, digest: digestOf(raw) }))
    },
  }
}

const ours: Subject = {
  command: serveCommand,
  options: { handlers: { 'effects.mjs': effectsHandler({ busyMs: 20 }) } },
  async finish(sidecar) {
    await sidecar.drained()
    return sidecar.stop()
  },
  readStored: async ({ databaseFile }) => (await readLedger(databaseFile)).stored,
}

const flaws = [
  {
    flaw: 'a',
    name: 'acknowledges before the commit',
    by: probe,
    finding: /^P1 .* was acknowledged and is not stored/,
  },
  { flaw: 'c', name: 'checks, then inserts', by: probe, finding: /^P3 at_once is stored twice/ },
  {
    flaw: 'd',
    name: 'marks an event as processed before the effect',
    by: probe,
    finding: /^P3 .* was handled 0 times/,
  },
  { flaw: 'e', name: 'has the effect before it dedupes', by: probe, finding: /^P3 at_once was handled again although/ },
  { flaw: 'f', name: 'verifies over JSON made anew', by: probe, finding: /^P2 a forged .* was answered 200/ },
  { flaw: 'g', name: 'takes an empty secret', by: probeEmptySecret, finding: /^P2 .* empty secret was answered 200/ },
  { flaw: 'h', name: 'throws on a signature of another length', by: probe, finding: /^P7 .* ended by itself/ },
  { flaw: 'i', name: 'forgets ids on restart', by: probe, finding: /^P3 .* is stored twice/ },
  { flaw: 'j', name: 'logs the signature', by: probe, finding: /^P8 the output shows the signature/ },
  { flaw: 'k', name: 'assumes order', by: probe, finding: /^P1 older was acknowledged and is not stored/ },
  {
    flaw: 'l',
    name: 'acknowledges what the disk did not take',
    by: probeFileLimit,
    finding: /^P1 large_.* not stored/,
  },
]

async function findings(by: (subject: Subject) => ReturnType<typeof probe>, subject: Subject): Promise<string[]> {
  return (await by(subject)).map(({ property, what }) => `${property} ${what}`)
}

describe('the checks flag a receiver that', () => {
  test.each(flaws)('($flaw) $name', async ({ flaw, by, finding }) => {
    expect(await findings(by, receiverWith(flaw))).toContainEqual(expect.stringMatching(finding))
  })

  test.skipIf(!canTrace())('(b) commits without an fsync (needs strace)', async () => {
    expect(await findings(probeHonestAck, receiverWith('b'))).toContainEqual(expect.stringMatching(/^P5 a 2xx/))
  })
})

describe.each([
  { name: 'a receiver without a flaw', subject: receiverWith('none') },
  { name: 'ours', subject: ours },
])('the checks find nothing in $name', ({ subject }) => {
  test('under forgeries, duplicates, late events, kills and restarts', async () => {
    expect(await findings(probe, subject)).toEqual([])
  })

  test('that is given an empty secret', async () => {
    expect(await findings(probeEmptySecret, subject)).toEqual([])
  })

  test('whose files may not grow any more', async () => {
    expect(await findings(probeFileLimit, subject)).toEqual([])
  })

  test.skipIf(!canTrace())('whose system calls are traced (needs strace)', async () => {
    expect(await findings(probeHonestAck, subject)).toEqual([])
  })
})
