import Sqlite from 'better-sqlite3'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from '../support/app.ts'
import { checkHistory, type Finding } from '../support/checks.ts'
import { digestOf, isAcknowledged, RecordingClient, toDelivery, type Delivery } from '../support/history.ts'
import { readEffects, type StoredCopy } from '../support/ledger.ts'
import { Sidecar, testToken, type SidecarOptions } from '../support/sidecar.ts'
import { canTrace } from '../support/tools.ts'

/** A receiver under test. */
interface Subject {
  readonly command: readonly string[]
  readonly options: Omit<SidecarOptions, 'command'>
  /** Waits for all work, then stops the receiver. */
  finish(sidecar: Sidecar): Promise<unknown>
  /** Reads the stored events while the receiver is stopped. */
  readStored(sidecar: Sidecar): Promise<readonly StoredCopy[]>
}

const address = '0x00000000000000000000000000000000000000a1'

const steps = {
  signatures: (_, client) => probeSignatures(client),
  duplicates: (_, client) => probeDuplicates(client),
  async kills(sidecar, client) {
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 5; n++) await client.deliver(anEvent(`kill_${round}_${n}`, { key: address }))
      await sidecar.kill()
      await sidecar.start()
    }
  },
  async 'a restart'(sidecar, client) {
    await sidecar.stop()
    await sidecar.start()
    await probeDuplicates(client)
  },
} satisfies Record<string, (sidecar: Sidecar, client: RecordingClient) => Promise<void>>

type ProbeStep = keyof typeof steps

const allSteps = Object.keys(steps) as ProbeStep[]

/** Runs the steps, resends, and checks. */
async function probe(subject: Subject, names: readonly ProbeStep[]): Promise<Finding[]> {
  const { command, options } = subject
  await using sidecar = await Sidecar.start({ ...options, command })
  using client = new RecordingClient({ url: () => sidecar.url })
  for (const name of names) await steps[name](sidecar, client)
  return await conclude(subject, sidecar, client)
}

/** Limits files to a few MB and sends more than that. Then the limit is lifted. */
async function probeFileLimit(subject: Subject): Promise<Finding[]> {
  const { command, options } = subject
  const limited = ['sh', '-c', 'ulimit -f "$FILE_LIMIT"; exec "$@"', 'sh', ...command]
  await using sidecar = await Sidecar.create({ ...options, command: limited })
  await sidecar.start({ FILE_LIMIT: '4096' })
  using client = new RecordingClient({ url: () => sidecar.url })
  for (let n = 0; n < 80; n++) await client.deliver(anEvent(`large_${n}`, { note: 'x'.repeat(50_000) }))
  await sidecar.kill()
  await sidecar.start({ FILE_LIMIT: 'unlimited' })
  return await conclude(subject, sidecar, client)
}

/** P5, by traced system calls: an fsync returns before each 2xx for a new event. */
async function probeHonestAck({ command, options }: Subject): Promise<Finding[]> {
  const calls = 'trace=fsync,fdatasync,write,writev,sendto,sendmsg'
  const traced = ['strace', '-f', '--seccomp-bpf', '-e', calls, '-o', 'trace', ...command]
  await using sidecar = await Sidecar.start({ ...options, command: traced })
  using client = new RecordingClient({ url: () => sidecar.url, timeoutMs: 30_000 })
  const findings: Finding[] = []
  for (let n = 0; n < 20; n++) {
    const { answer } = await client.deliver(anEvent(`traced_${n}`))
    if (answer !== 200) findings.push({ property: 'P5', what: `traced_${n} was answered ${answer}` })
  }
  await sidecar.kill()
  let synced = false
  for (const line of (await readFile(join(sidecar.dir, 'trace'), 'utf8')).split('\n')) {
    if (/(?:fsync|fdatasync)(?:\(\d+| resumed>)\)\s+= 0$/.test(line)) synced = true
    if (!line.includes('"HTTP/1.1 200')) continue
    if (!synced)
      findings.push({ property: 'P5', what: 'a 2xx was written, and no fsync had returned since the last one' })
    synced = false
  }
  return findings
}

async function probeSignatures(client: RecordingClient): Promise<void> {
  const { raw } = anEvent('forged', { amount_usd: 1.5 })
  const good = sign(raw, testSecret)
  const pretty = Buffer.from(JSON.stringify(JSON.parse(raw.toString()), null, 2))
  const forgeries: readonly (readonly [Buffer, string])[] = [
    [raw, ''],
    [raw, good.slice(0, 63)],
    [raw, `${good}0`],
    [raw, good.replace(/^./, 'g')],
    [raw, `sha256=${good}`],
    [raw, Buffer.from(good, 'hex').toString('base64')],
    [raw, sign(raw, `${testSecret}!`)],
    [raw, sign(raw, '')],
    [pretty, good],
    [raw, sign(pretty, testSecret)],
  ]
  for (const [index, [bytes, signature]] of forgeries.entries()) {
    await client.forge({ id: 'forged', key: null, raw: bytes, signature })
    await client.deliver(anEvent(`after_forgery_${index}`))
  }
}

async function probeDuplicates(client: RecordingClient): Promise<void> {
  const event = anEvent('at_once')
  await Promise.all(Array.from({ length: 50 }, () => client.deliver(event)))
  for (let n = 0; n < 3; n++) await client.deliver(event)
}

/** Resends events that were not acknowledged, waits for all work, and checks. */
async function conclude(subject: Subject, sidecar: Sidecar, client: RecordingClient): Promise<Finding[]> {
  const unsure = new Map<string, Delivery>()
  for (const { op, id, delivery } of client.requests) if (op === 'deliver') unsure.set(id, delivery)
  for (const request of client.requests) if (isAcknowledged(request)) unsure.delete(request.id)
  const findings: Finding[] = []
  for (const delivery of unsure.values()) {
    const again = await client.deliver(delivery)
    if (!isAcknowledged(again))
      findings.push({ property: 'P7', what: `${again.id} was answered ${again.answer} in the end` })
  }
  await subject.finish(sidecar)
  const stored = await subject.readStored(sidecar)
  const effects = await readEffects(sidecar.effectsFile)
  const secrets = [testSecret, testToken]
  const { requests } = client
  const evidence = { requests, stored, effects, lives: sidecar.lives, output: sidecar.output.text, secrets }
  return [...findings, ...checkHistory(evidence)]
}

interface EventParts {
  readonly key?: string
  readonly createdAt?: string
  readonly amount_usd?: number
  readonly note?: string
}

function anEvent(id: string, { key, createdAt = '2026-01-31T14:03:22.123Z', ...data }: EventParts = {}): Delivery {
  const about = key === undefined ? {} : { wallet_address: key }
  const envelope = {
    id,
    type: 'wallet.large_trade',
    created_at: createdAt,
    data: { ...about, network: 'ethereum', ...data },
  }
  return toDelivery(Buffer.from(JSON.stringify(envelope)), { id, key: key ?? null })
}

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

type Probe = (subject: Subject) => Promise<readonly Finding[]>

const by =
  (...steps: readonly ProbeStep[]): Probe =>
  (subject) =>
    probe(subject, steps)

const flaws: readonly (readonly [flaw: string, name: string, probe: Probe, finding: RegExp])[] = [
  ['a', 'acknowledges before the commit', by('kills'), /^P1 .* was acknowledged and is not stored/],
  ['c', 'checks, then inserts', by('duplicates'), /^P3 at_once is stored twice/],
  ['d', 'marks an event as processed before the effect', by('kills'), /^P3 .* was handled 0 times/],
  ['e', 'has the effect before it deduplicates', by('duplicates'), /^P3 at_once was handled again without a crash/],
  ['f', 'verifies over re-serialized JSON', by('signatures'), /^P2 a forged .* was answered 200/],
  ['h', 'throws on a signature of another length', by('signatures'), /^P7 .* ended by itself/],
  ['i', 'forgets ids on restart', by('duplicates', 'a restart'), /^P3 .* is stored twice/],
  ['j', 'logs the signature', by('duplicates'), /^P8 the output shows the signature/],
  ['l', 'acknowledges events that the disk refused', probeFileLimit, /^P1 large_.* not stored/],
]

async function findings(run: Probe, subject: Subject): Promise<string[]> {
  return (await run(subject)).map(({ property, what }) => `${property} ${what}`)
}

describe('finds a receiver that', () => {
  test.each(flaws)('(%s) %s', async (flaw, _, run, finding) => {
    expect(await findings(run, receiverWith(flaw))).toContainEqual(expect.stringMatching(finding))
  })

  test.skipIf(!canTrace())('(b) commits without an fsync (needs strace)', async () => {
    expect(await findings(probeHonestAck, receiverWith('b'))).toContainEqual(expect.stringMatching(/^P5 a 2xx/))
  })
})

test.each<[string, Probe]>([
  ['forgeries, duplicates, kills and restarts', by(...allSteps)],
  ['a limit of file sizes', probeFileLimit],
  ...(canTrace() ? [['traced system calls (needs strace)', probeHonestAck] as [string, Probe]] : []),
])('finds nothing in a receiver without a flaw: %s', async (_, run) => {
  expect(await findings(run, receiverWith('none'))).toEqual([])
})
