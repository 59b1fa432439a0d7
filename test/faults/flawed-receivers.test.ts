import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from '../support/app.ts'
import { checkHistory, type Finding } from '../support/checks.ts'
import { digestOf, eventDelivery, isAcknowledged, RecordingClient, type Delivery } from '../support/history.ts'
import { readEffects } from '../support/ledger.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { rowsOf } from '../support/sqlite-files.ts'
import { canTrace } from '../support/tools.ts'

const receiver = fileURLToPath(new URL('../fixtures/flawed/flawed-receiver.ts', import.meta.url))
const command = [process.execPath, receiver]

const steps = {
  signatures: (_, client) => probeSignatures(client),
  duplicates: (_, client) => probeDuplicates(client),
  async kills(sidecar, client) {
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 5; n++) await client.deliver(anEvent(`kill_${round}_${n}`, {}, '0xa1'))
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

/** Sends to a receiver with a flaw, or without one. */
type Probe = (FLAW: string) => Promise<readonly Finding[]>

const allSteps = Object.keys(steps) as ProbeStep[]

/** Runs the steps, resends, and checks. */
const by =
  (...names: readonly ProbeStep[]): Probe =>
  async (FLAW) => {
    await using sidecar = await Sidecar.start({ command, env: { FLAW } })
    using client = new RecordingClient({ url: () => sidecar.url })
    for (const name of names) await steps[name](sidecar, client)
    return await conclude(sidecar, client)
  }

/** Limits files to a few MB and sends more than that. Then the limit is lifted. */
async function probeFileLimit(FLAW: string): Promise<Finding[]> {
  const limited = ['sh', '-c', 'ulimit -f "$FILE_LIMIT"; exec "$@"', 'sh', ...command]
  await using sidecar = await Sidecar.create({ command: limited, env: { FLAW } })
  await sidecar.start({ FILE_LIMIT: '4096' })
  using client = new RecordingClient({ url: () => sidecar.url })
  for (let n = 0; n < 80; n++) await client.deliver(anEvent(`large_${n}`, { note: 'x'.repeat(50_000) }))
  await sidecar.kill()
  await sidecar.start({ FILE_LIMIT: 'unlimited' })
  return await conclude(sidecar, client)
}

/** P5, by traced system calls: an fsync returns before each 2xx for a new event. */
async function probeHonestAck(FLAW: string): Promise<Finding[]> {
  const calls = 'trace=fsync,fdatasync,write,writev,sendto,sendmsg'
  const traced = ['strace', '-f', '--seccomp-bpf', '-e', calls, '-o', 'trace', ...command]
  await using sidecar = await Sidecar.start({ command: traced, env: { FLAW } })
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
async function conclude(sidecar: Sidecar, client: RecordingClient): Promise<Finding[]> {
  const unsure = new Map<string, Delivery>()
  for (const { op, id, delivery } of client.requests) if (op === 'deliver') unsure.set(id, delivery)
  for (const request of client.requests) if (isAcknowledged(request)) unsure.delete(request.id)
  const findings: Finding[] = []
  for (const delivery of unsure.values()) {
    const again = await client.deliver(delivery)
    if (!isAcknowledged(again))
      findings.push({ property: 'P7', what: `${again.id} was answered ${again.answer} in the end` })
  }
  await sidecar.stop()
  const query = 'SELECT seq, id, raw FROM event'
  const rows = rowsOf<{ seq: number; id: string; raw: Buffer }>(sidecar.databaseFile, query)
  const stored = rows.map(({ seq, id, raw }) => ({ seq, id, digest: digestOf(raw) }))
  const effects = await readEffects(sidecar.effectsFile)
  const secrets = [testSecret, testToken]
  const { requests } = client
  const evidence = { requests, stored, effects, lives: sidecar.lives, output: sidecar.output.text, secrets }
  return [...findings, ...checkHistory(evidence)]
}

function anEvent(id: string, data: object = {}, key: string | null = null): Delivery {
  const about = key === null ? {} : { wallet_address: key }
  return eventDelivery({ id, data: { ...about, network: 'ethereum', ...data } }, key)
}

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

async function findings(run: Probe, flaw: string): Promise<string[]> {
  return (await run(flaw)).map(({ property, what }) => `${property} ${what}`)
}

describe('finds a receiver that', () => {
  test.each(flaws)('(%s) %s', async (flaw, _, run, finding) => {
    expect(await findings(run, flaw)).toContainEqual(expect.stringMatching(finding))
  })

  test.skipIf(!canTrace())('(b) commits without an fsync (needs strace)', async () => {
    expect(await findings(probeHonestAck, 'b')).toContainEqual(expect.stringMatching(/^P5 a 2xx/))
  })
})

test.each<[string, Probe]>([
  ['forgeries, duplicates, kills and restarts', by(...allSteps)],
  ['a limit of file sizes', probeFileLimit],
  ...(canTrace() ? [['traced system calls (needs strace)', probeHonestAck] as [string, Probe]] : []),
])('finds nothing in a receiver without a flaw: %s', async (_, run) => {
  expect(await findings(run, 'none')).toEqual([])
})
