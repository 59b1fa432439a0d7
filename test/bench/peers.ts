import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { renderTable } from '../../src/cli/table.ts'
import { debianProgram, startServer, type Program } from '../support/debian.ts'
import { freePort } from '../support/stream-sinks.ts'
import { noop, stored, writeHandlers } from './contenders.ts'
import { toDelivery } from './load.ts'
import { startBenchPostgres } from './postgres/server.ts'
import { race, type Measured, type RaceOptions, type Runner } from './race.ts'
import { benchSecret, startCeiling, startPeer, startProduct, type Peer } from './server-process.ts'

/** Where a peer stores events. */
interface Store {
  /** URL, file or port. */
  readonly at: string
  /** Kills the store's own process and starts it again. */
  crash(): Promise<void>
  stop(): Promise<void>
}

interface Contestant {
  readonly name: string
  /** A new, empty store. */
  readonly open: () => Promise<Store>
  /** Starts the receiver on the store. `effects`: a file where the handler notes each event. */
  readonly start: (store: Store, how: { readonly handles: boolean; readonly effects?: string }) => Promise<Peer>
}

/** Acknowledged events that are missing after a `kill -9`: `late` ones are stored, but not handled within `patienceMs` of the restart. */
interface Loss {
  readonly acknowledged: number
  readonly lost: number
  readonly late: number
}

export interface PeerResult {
  readonly name: string
  readonly stored: Measured
  readonly handled: Measured
  readonly loss: Loss
}

export interface PeersReport {
  readonly ceiling: Measured
  readonly results: readonly PeerResult[]
  readonly skipped: readonly string[]
}

const packages = ['pg-boss@12.38.0', 'graphile-worker@0.18.0', 'fastify@5.12.8', 'bullmq@6.7.0', 'ioredis@6.0.0']
/** Sent before the kill comes. */
const killAfter = 2_000
const patienceMs = 15_000

/** Measures the inbox and its alternatives in one run. `say` reports progress. */
export async function measurePeers(
  work: string,
  options: RaceOptions,
  say: (text: string) => void,
): Promise<PeersReport> {
  const folder = await installPeers(work)
  await using postgres = await startBenchPostgres()
  const redis = await debianProgram('redis-server', ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'])
  let stores = 0
  const fileStore = async (): Promise<Store> => ({
    at: join(work, `peer-${++stores}.db`),
    crash: async () => {},
    stop: async () => {},
  })
  const databaseStore = async (): Promise<Store> => ({
    at: await postgres.createBenchDatabase(),
    crash: () => postgres.crash(),
    stop: async () => {},
  })
  const peer = (name: string, script: string, open: Contestant['open']): Contestant => ({
    name,
    open,
    start: ({ at }, { handles, effects }) => startPeer(join(folder, script), { at, handles, effects }),
  })
  const contestants = [
    createProductContestant(work, fileStore),
    peer('Express + better-sqlite3, a transaction per request', 'sqlite.mjs', fileStore),
    peer('Express + pg-boss', 'pg-boss.mjs', databaseStore),
    peer('Express + Graphile Worker', 'graphile-worker.mjs', databaseStore),
  ]
  if (redis !== null) {
    const variants = {
      'Redis as installed': [],
      'Redis with fsync': ['--appendonly', 'yes', '--appendfsync', 'always'],
    }
    for (const [name, flags] of Object.entries(variants)) {
      const open = () => openRedis(redis, join(work, `redis-${++stores}`), flags)
      contestants.push(peer(`Fastify + BullMQ, ${name}`, 'bullmq.mjs', open))
    }
  }

  const [ceiling, ...measured] = await measureSpeeds(contestants, options)
  const losses: Loss[] = []
  for (const [index, contestant] of contestants.entries()) {
    say(`kill -9: ${contestant.name} …`)
    losses.push(await measureLoss(contestant, join(work, `effects-${index}`)))
  }
  return {
    ceiling: ceiling as Measured,
    results: contestants.map(({ name }, index) => ({
      name,
      stored: measured[index] as Measured,
      handled: measured[contestants.length + index] as Measured,
      loss: losses[index] as Loss,
    })),
    skipped: redis === null ? ['Fastify + BullMQ: no redis-server found'] : [],
  }
}

/** Results of the ceiling, of each contestant that only stores, and of each that handles too. */
async function measureSpeeds(contestants: readonly Contestant[], options: RaceOptions): Promise<readonly Measured[]> {
  await using opened = new AsyncDisposableStack()
  const ceiling = await startCeiling()
  opened.defer(() => ceiling.stop())
  const runners: Runner[] = [{ name: 'ceiling', server: ceiling, keys: stored.keys }]
  for (const handles of [false, true]) {
    for (const { name, open, start } of contestants) {
      const store = await open()
      opened.defer(() => store.stop())
      const server = await start(store, { handles })
      opened.defer(() => server.stop())
      const openRuns = () => server.openRuns()
      runners.push({ name, server, keys: stored.keys, ...(handles && { openRuns }) })
    }
  }
  return await race(runners, options)
}

/** Installs the peers' packages into a folder beside their scripts. */
async function installPeers(work: string): Promise<string> {
  const folder = join(work, 'peers')
  cpSync(new URL('./peers', import.meta.url), folder, { recursive: true })
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  const same = ['express', 'raw-body'].map((name) => `${name}@${dependencies[name]}`)
  const flags = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  await promisify(execFile)('npm', ['install', ...flags, ...packages, ...same], { shell: false })
  // Its binary is built already.
  symlinkSync(join(root, 'node_modules/better-sqlite3'), join(folder, 'node_modules/better-sqlite3'))
  return folder
}

function createProductContestant(work: string, open: Contestant['open']): Contestant {
  let started = 0
  return {
    name: 'onchain-inbox',
    open,
    start({ at }, { handles, effects }) {
      const note = `import { appendFileSync } from 'node:fs'\nimport { defineHandler } from 'onchain-inbox'
export default defineHandler({ type: '*', run: ({ id }) => appendFileSync(${JSON.stringify(effects)}, id + '\\n') })\n`
      const handlers = handles ? { handler: effects === undefined ? noop : note } : {}
      const handlersDir = writeHandlers(join(work, `peer-handlers-${++started}`), handlers)
      return startProduct({ databaseUrl: `sqlite:${at}`, handlersDir })
    },
  }
}

async function openRedis(program: Program, dir: string, flags: readonly string[]): Promise<Store> {
  const port = await freePort()
  mkdirSync(dir)
  const start = () =>
    startServer(program, ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, ...flags], port)
  let server = await start()
  const stop = () => server[Symbol.asyncDispose]()
  return {
    at: String(port),
    async crash() {
      await stop()
      server = await start()
    },
    stop,
  }
}

/** Kills receiver and store while deliveries arrive, starts both again, and looks for each acknowledged event. */
async function measureLoss(contestant: Contestant, effects: string): Promise<Loss> {
  const store = await contestant.open()
  const first = await contestant.start(store, { handles: true, effects })
  const acknowledged = await sendUntilKilled(first.port, () => first.kill())
  await store.crash()
  const second = await contestant.start(store, { handles: true, effects })
  const missing = () => {
    const noted = new Set(existsSync(effects) ? readFileSync(effects, 'utf8').split('\n') : [])
    return acknowledged.filter((id) => !noted.has(id))
  }
  const deadline = performance.now() + patienceMs
  while (missing().length > 0 && performance.now() < deadline) await wait(50)
  const open = new Set(await second.openIds())
  const left = missing()
  await second.stop()
  await store.stop()
  const late = left.filter((id) => open.has(id)).length
  return { acknowledged: acknowledged.length, lost: left.length - late, late }
}

/** Sends on 32 connections, calls `kill` after `killAfter` responses, and returns the ids of all acknowledged events. */
async function sendUntilKilled(port: number, kill: () => Promise<void>): Promise<readonly string[]> {
  const acknowledged: string[] = []
  const options = {
    ports: [port],
    path: '/webhooks',
    secret: benchSecret,
    connections: 32,
    events: 0,
    idPrefix: 'kill-',
    keys: 2_000,
  }
  let next = 0
  let killed: Promise<void> | undefined
  await Promise.all(
    Array.from({ length: options.connections }, async () => {
      const socket = connect({ host: '127.0.0.1', port })
      const ended = new Promise<null>((resolve) => socket.once('close', () => resolve(null)))
      socket.on('error', () => {})
      while (!socket.destroyed) {
        const { id, request } = toDelivery(options, next++)
        socket.write(request)
        const response = new Promise<Buffer>((resolve) => socket.once('data', resolve))
        if ((await Promise.race([response, ended]))?.toString('latin1', 9, 12) === '200') acknowledged.push(id)
        if (acknowledged.length >= killAfter) killed ??= kill()
      }
    }),
  )
  await killed
  return acknowledged
}

export function renderPeers({ ceiling, results, skipped }: PeersReport): string {
  const table = renderTable(
    ['', 'stored/s', 'handled/s', 'p50 ms', 'p99 ms', 'peak MB', 'lost', 'late'],
    results.map(({ name, stored: ofStored, handled: ofHandled, loss }) => [
      name,
      ofStored.perSecond.toFixed(0),
      ofHandled.perSecond.toFixed(0),
      ofHandled.p50Ms.toFixed(1),
      ofHandled.p99Ms.toFixed(1),
      ofHandled.peakMemoryMb.toFixed(0),
      `${loss.lost} of ${loss.acknowledged}`,
      String(loss.late),
    ]),
  )
  return [
    table,
    `ceiling, which stores nothing: ${ceiling.perSecond.toFixed(0)} events/s`,
    'p50, p99 and peak MB are of the process while events are handled, without the database',
    `lost: acknowledged events that are gone after kill -9 of receiver and store; late: stored, but not handled ${patienceMs / 1_000} s after the restart`,
    ...skipped.map((text) => `skipped: ${text}`),
  ].join('\n')
}
