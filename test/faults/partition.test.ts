import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { AppServer } from '../support/app-server.ts'
import { isAcknowledged } from '../support/history.ts'
import type { Effect } from '../support/ledger.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { createStage, seed } from './stage.ts'

test(`${counts.partitions} partitions between forwarding and app delay no acknowledgement, and events arrive afterwards in order (SEED=${seed})`, async () => {
  const random = createRandomStream(seed, 'partition')
  await using app = await AppServer.start()
  await using network = await startProxy(app.port)
  const url = `http://127.0.0.1:${network.port}/app`
  await using stage = await createStage({ keys: 100, env: { INBOX_FORWARD_URL: url } })
  const { sidecar, client } = stage
  await sidecar.start()
  await stage.acknowledge(60)

  for (let round = 0; round < counts.partitions; round += 1) {
    const before = client.requests.length
    network.stall()
    await stage.acknowledge(60)
    // With LONG=1, longer than an attempt may take.
    await wait(round === 0 && counts.longStallMs > 0 ? counts.longStallMs : random.integer(200, 2_000))
    await stage.acknowledge(50)
    const answers = new Set(client.requests.slice(before).map(({ answer }) => answer))
    expect([...answers].filter((answer) => answer !== 200 && answer !== 401)).toEqual([])
    network.resume()
    const received = app.requests.length
    await until(() => app.requests.length > received, 'something arrives after the partition', 60_000)
  }

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
