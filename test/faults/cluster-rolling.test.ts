import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { testSecret } from '../support/app.ts'
import { checkHistory } from '../support/checks.ts'
import {
  checkDuplicates,
  countShared,
  checkHandled,
  effectsOf,
  ledgerHandler,
  ledgerSource,
  readCluster,
  readHandled,
  readRuns,
} from '../support/cluster-ledger.ts'
import { type PassedRequest, startMirroringBalancer } from '../support/cluster-mirror.ts'
import { isAcknowledged, RecordingClient, toDelivery } from '../support/history.ts'
import { Load } from '../support/load.ts'
import { startPostgres } from '../support/postgres.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { until } from '../support/until.ts'
import { readFile } from 'node:fs/promises'
import { eventBytes } from '../support/signed.ts'

const prefix = 'slow_'

/** Source of a handler whose runs take `ms`. A run writes a line when it begins, and a ledger entry when it ends. */
function slowSource(ms: number): string {
  return `
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'

export default defineHandler({
  type: 'test.slow',
  async run(event, ctx) {
    appendFileSync(process.env.EFFECTS, event.id + '\\n')
    await wait(${ms}, undefined, { signal: ctx.signal })
    const entries = (await ctx.state.get(event.id)) ?? []
    ctx.state.set(event.id, [...entries, [event.id, ctx.attempt, '']])
  },
})
`
}

function isSlow(id: string): boolean {
  return id.startsWith(prefix)
}

/** Sends slow events until the replica has begun one. Returns its id. */
async function occupy(replica: Sidecar, client: RecordingClient): Promise<string> {
  const before = (await begun(replica)).length
  let found: string | undefined
  await until(async () => {
    const id = `${prefix}${replica.pid}_${client.requests.length}`
    await client.deliver(toDelivery(eventBytes({ id, type: 'test.slow', data: {} }), { id }))
    found = (await begun(replica))[before]
    return found !== undefined
  }, 'the replica runs a slow event')
  return found ?? ''
}

/** Ids of the slow events that a replica has begun, with repeats. */
async function begun(replica: Sidecar): Promise<readonly string[]> {
  const lines = await readFile(replica.effectsFile, 'utf8').catch(() => '')
  return lines.split('\n').filter((line) => line !== '')
}

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const replicaCount = 3
/** Half of it is the grace period of running runs. */
const shutdownMs = 2_000
const slowMs = 2_500
/** Acknowledged events before each stop. */
const between = 25

test(`a rolling deployment of other handlers loses, repeats and rejects nothing (SEED=${seed})`, async () => {
  console.log(`SEED=${seed}`)
  const random = createRandomStream(seed, 'rolling')
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase('cluster')
  await using stack = new AsyncDisposableStack()
  const env = {
    INBOX_DATABASE_URL: url,
    INBOX_SHUTDOWN_MS: String(shutdownMs),
  }
  const common = { 'ledger.mjs': ledgerHandler, 'slow.mjs': slowSource(slowMs) }
  const older = { ...common, 'changed.mjs': ledgerSource('old'), 'removed.mjs': ledgerSource('old') }
  const newer = { ...common, 'changed.mjs': ledgerSource('new'), 'added.mjs': ledgerSource('new') }
  const create = async (handlers: typeof older | typeof newer) => stack.use(await Sidecar.create({ handlers, env }))

  const replicas = await Promise.all(Array.from({ length: replicaCount }, () => create(older)))
  await Promise.all(replicas.map((replica) => replica.start()))
  const up = new Set(replicas)
  const portOf = (replica: Sidecar) => Number(new URL(replica.url).port)
  const oldPorts = new Set(replicas.map(portOf))
  await using balancer = await startMirroringBalancer(() => [...up].map(portOf))
  using sender = new RecordingClient({ url: () => balancer.url })
  const load = new Load({ client: sender, workers: 2, keys: 100, random: () => random.uniform() })
  const sending = load.run()
  stack.defer(() => load.stop())
  let occupied = replicas[0] as Sidecar
  using client = new RecordingClient({ url: () => occupied.url })
  /** Slow events that were running when their replica was stopped. */
  const cutOff: string[] = []
  const newcomers: Sidecar[] = []
  /** When the first newcomer began to start, and when it had started. */
  let [newcomersFrom, newcomersSince] = [Infinity, Infinity]
  for (const replica of replicas) {
    // `sending` ends early if a connection breaks.
    await Promise.race([load.acknowledgements(between), sending])
    occupied = replica
    cutOff.push(await occupy(replica, client))
    // The balancer stops sending before the replica stops, so nothing is rejected.
    up.delete(replica)
    await balancer.drained(portOf(replica))
    expect(await replica.stop()).toEqual({ code: 0, signal: null })
    const newcomer = await create(newer)
    newcomersFrom = Math.min(newcomersFrom, performance.now())
    await newcomer.start()
    newcomersSince = Math.min(newcomersSince, performance.now())
    newcomers.push(newcomer)
    up.add(newcomer)
  }
  await Promise.race([load.acknowledgements(between), sending])
  load.stop()
  await sending
  await load.heal()
  await balancer.drained()
  // Under load, a replica may reject deliveries as overloaded.
  const rejected = balancer.passed.filter(
    ({ op, answer, became }) => op === 'deliver' && answer !== 200 && became !== 'overloaded',
  )
  expect(rejected).toEqual([])

  const [first] = newcomers as [Sidecar]
  // No replica executes the remaining runs of the removed handler.
  const dropping = await first.admin('handlers/removed/drop', { method: 'POST', body: '{"reason":"removed"}' })
  expect(dropping.status).toBe(200)
  const { dropped } = (await dropping.json()) as { readonly dropped: number }
  await first.drained()
  for (const newcomer of newcomers) expect(await newcomer.stop()).toEqual({ code: 0, signal: null })

  const found = await readCluster(url)
  const requests = [...sender.requests, ...client.requests]
  expect(found.openRuns).toBe(0)
  expect(checkDuplicates([...balancer.passed, ...client.requests], found)).toEqual([])
  expect(countShared(balancer.passed)).toBeGreaterThan(found.stored.length / 2)
  const stored = found.stored.filter(({ id }) => !isSlow(id))
  expect(new Set(stored.map(({ id }) => id))).toEqual(
    new Set(sender.requests.filter(isAcknowledged).map(({ id }) => id)),
  )
  expect(checkHandled(stored, found.handled)).toEqual([])

  const runs = await readRuns(url)
  const changed = await readHandled(url, 'changed')
  expect(checkHandled(stored, changed)).toEqual([])
  const labels = Map.groupBy([...changed.values()].flat(), ({ label }) => label)
  expect([...labels.keys()].toSorted()).toEqual(['new', 'old'])

  // A stop releases running runs: they begin again with the same attempt number.
  const slow = await readHandled(url, 'slow')
  const slowCopies = found.stored.filter(({ id }) => isSlow(id))
  expect(checkHandled(slowCopies, slow)).toEqual([])
  const begins = (await Promise.all([...replicas, ...newcomers].map((replica) => begun(replica)))).flat()
  expect(cutOff.filter((id) => begins.filter((one) => one === id).length < 2)).toEqual([])
  const entries = [...found.handled.values(), ...changed.values(), ...slow.values()].flat()
  expect(entries.filter(({ attempt }) => attempt !== 1)).toEqual([])

  // All events have runs of the removed handler; events since the first newcomer also have runs of the added handler.
  const runCounts = (handler: string, isMeant: (passed: PassedRequest) => boolean) => {
    const meant = balancer.passed.filter((passed) => passed.became === 'accepted' && isMeant(passed))
    return [...new Set(meant.map(({ id }) => runs.get(handler)?.get(id) ?? 0))]
  }
  const isByOld = ({ port }: PassedRequest) => oldPorts.has(port)
  expect(runCounts('removed', () => true)).toEqual([1])
  expect(runCounts('added', ({ endedAt }) => endedAt < newcomersFrom)).toEqual([0])
  expect(runCounts('added', (passed) => isByOld(passed) && passed.startedAt > newcomersSince)).toEqual([1])
  expect(runCounts('added', (passed) => !isByOld(passed))).toEqual([1])
  const isWith = (handler: string) => stored.filter(({ id }) => runs.get(handler)?.has(id))
  expect(checkHandled(isWith('added'), await readHandled(url, 'added'))).toEqual([])
  const removed = [...(await readHandled(url, 'removed')).values()].flat()
  expect(new Set(removed.map(({ id }) => id)).size).toBe(removed.length)
  expect(removed.length + dropped).toBe(isWith('removed').length)
  expect([...runs.values()].flatMap((byId) => [...byId.values()]).filter((count) => count !== 1)).toEqual([])

  const evidence = {
    requests,
    stored: found.stored,
    effects: [...found.effects, ...effectsOf(slow)],
    // No replica was killed; the exits are checked above.
    lives: [],
    output: [...replicas, ...newcomers].map(({ output }) => output.text).join(''),
    secrets: [testSecret, testToken, 'of-the-test'],
  }
  expect(checkHistory(evidence)).toEqual([])
})
