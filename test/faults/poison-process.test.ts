import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { counts } from '../counts.ts'
import { isAcknowledged, RecordingClient, toDelivery } from '../support/history.ts'
import { readLedger } from '../support/ledger.ts'
import { Sidecar } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const fixture = (name: string) => readFile(new URL(`../fixtures/handlers/${name}`, import.meta.url), 'utf8')

it('P9: an event whose handler kills the process becomes a dead letter after three crashes, and all others are done', async () => {
  const handlers = { 'poison.ts': await fixture('poison.ts'), 'steady.ts': await fixture('steady.ts') }
  await using sidecar = await Sidecar.start({ handlers })
  using client = new RecordingClient({ url: () => sidecar.url })
  const deliver = (id: string, data: object = {}) =>
    client.deliver(toDelivery(eventBytes({ id, data: { workMs: 20, ...data } }), { id }))
  /** A busy machine may reject a delivery at first. */
  const accepted = (id: string) => until(async () => isAcknowledged(await deliver(id)), `${id} is accepted`)
  const ids = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}_${index}`)

  await Promise.all(ids('before', counts.innocentsBesidePoison).map(accepted))
  await Promise.all([deliver('guilty', { deed: 'kill and wait' }), ...ids('beside', 10).map((id) => deliver(id))])
  expect(await sidecar.exited()).toMatchObject({ signal: 'SIGKILL' })
  expect(await sidecar.run()).toMatchObject({ signal: 'SIGKILL' })
  expect(await sidecar.run()).toMatchObject({ signal: 'SIGKILL' })

  await sidecar.start()
  await accepted('after')
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  const { work, missingSeqs } = await readLedger(sidecar.databaseFile)
  expect(missingSeqs).toBe(0)
  const guilty = work.filter(({ id, state }) => id === 'guilty' && state === 'dead')
  expect(guilty).toMatchObject([{ attempt: 3, crashed: 3 }])
  // All others are done; at most one crash was charged to them, and no attempt failed in any other way.
  const others = work.filter((run) => !guilty.includes(run))
  expect(new Set(others.map(({ state }) => state))).toEqual(new Set(['done']))
  expect(others.filter(({ attempt, crashed }) => attempt !== 1 + crashed || crashed > 1)).toEqual([])
  const done = new Set(others.map(({ id }) => id))
  const acknowledged = client.requests.filter(({ id, ...request }) => id !== 'guilty' && isAcknowledged(request))
  expect(acknowledged.filter(({ id }) => !done.has(id))).toEqual([])
})
