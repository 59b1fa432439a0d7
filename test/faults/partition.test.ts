import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { AppServer } from '../support/app-server.ts'
import { isAcknowledged } from '../support/history.ts'
import type { Effect } from '../support/ledger.ts'
import { until } from '../support/until.ts'
import { createStage } from './stage.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')

/**
 * stall: connections open, but no byte passes
 * drop: open and new connections are reset
 * mute: requests pass; the connection is reset at the response
 * refuse: no connection opens
 */
const kinds = ['stall', 'drop', 'mute', 'refuse'] as const
type Way = 'open' | (typeof kinds)[number]

/** A TCP proxy between sidecar and app, with faults. */
async function aNetwork(appPort: number) {
  let way: Way = 'open'
  let cuts = 0
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  }
  const reset = (socket: Socket) => {
    cuts += 1
    socket.resetAndDestroy()
  }
  const server = createServer((near) => {
    keep(near)
    if (way === 'drop') return reset(near)
    const far = connect(appPort, '127.0.0.1')
    keep(far)
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => (way === 'mute' ? reset(near) : near.write(bytes)))
    near.once('close', () => far.destroy())
    far.once('close', () => near.destroy())
    if (way === 'stall') near.pause()
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}/app`,
    /** Connections that were reset so far. */
    cuts: () => cuts,
    open: () => sockets.size,
    async turn(to: Way): Promise<void> {
      if (way === 'refuse') await listen(port)
      way = to
      if (to === 'refuse') server.close()
      for (const socket of sockets) {
        if (to === 'drop' || to === 'refuse') reset(socket)
        if (to === 'stall') socket.pause()
        if (to === 'open') socket.resume()
      }
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

test(`${counts.partitions} partitions between forwarding and app delay no acknowledgement, and events arrive afterwards in order (SEED=${seed})`, async () => {
  console.log(`SEED=${seed}`)
  const random = createRandomStream(seed, 'partition')
  await using app = await AppServer.start()
  using network = await aNetwork(app.port)
  await using stage = await createStage({ seed, keys: 100, env: { INBOX_FORWARD_URL: network.url } })
  const { sidecar, client } = stage
  await sidecar.start()
  await stage.acknowledge(100)

  for (let round = 0; round < counts.partitions; round += 1) {
    const kind = kinds[round % kinds.length] ?? 'stall'
    const before = client.requests.length
    await network.turn(kind)
    await stage.acknowledge(150)
    // Lets attempts fail.
    await wait(random.integer(200, 2_000))
    await stage.acknowledge(50)
    const answers = new Set(client.requests.slice(before).map(({ answer }) => answer))
    expect(
      [...answers].filter((answer) => answer !== 200 && answer !== 401),
      kind,
    ).toEqual([])
    await network.turn('open')
    const received = app.requests.length
    await until(() => app.requests.length > received, `something arrives after ${kind}`, 60_000)
  }
  if (counts.longStallMs > 0) {
    await network.turn('stall')
    await stage.acknowledge(100)
    await wait(counts.longStallMs)
    await network.turn('open')
  }
  expect(network.cuts()).toBeGreaterThan(0)

  const arrivals = () =>
    app.requests.map(({ headers }) => ({
      id: String(headers['x-inbox-event-id']),
      idempotencyKey: String(headers['idempotency-key']),
      attempt: Number(headers['x-inbox-attempt']),
    }))
  /** The first arrival of each event, because repeats are allowed. */
  const firstArrivals = (): Effect[] =>
    [...Map.groupBy(arrivals(), ({ id }) => id).values()].flatMap(([first]) =>
      first === undefined ? [] : [{ id: first.id, attempt: first.attempt, pid: sidecar.pid, step: 'end' }],
    )
  const { findings, ledger } = await stage.examine(firstArrivals)
  expect(findings).toEqual([])
  const acknowledged = client.requests.filter((request) => request.op === 'deliver' && isAcknowledged(request))
  expect(new Set(arrivals().map(({ id }) => id))).toEqual(new Set(acknowledged.map(({ id }) => id)))
  expect(arrivals().filter(({ id, idempotencyKey }) => idempotencyKey !== `forward:${id}`)).toEqual([])

  const seqs = new Map(ledger.stored.map(({ id, seq }) => [id, seq]))
  const keys = new Map(acknowledged.map(({ id, delivery }) => [id, delivery.key]))
  for (const [key, ofKey] of Map.groupBy(firstArrivals(), ({ id }) => keys.get(id))) {
    const came = ofKey.map(({ id }) => seqs.get(id) ?? 0)
    expect(came, String(key)).toEqual(came.toSorted((a, b) => a - b))
  }
  console.log(`${seqs.size} events, ${arrivals().length - seqs.size} arrived more than once`)
}, 1_800_000)
