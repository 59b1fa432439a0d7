import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { counts } from '../counts.ts'
import { testSecret } from '../support/app.ts'
import { answerLimitMs } from '../support/history.ts'
import { readLedger } from '../support/ledger.ts'
import { Sidecar } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'

const fixture = (name: string) => readFile(new URL(`../fixtures/handlers/${name}`, import.meta.url), 'utf8')

async function createSidecar(): Promise<Sidecar> {
  const names = ['poison.ts', 'steady.ts']
  const sources = await Promise.all(names.map(async (name) => [name, await fixture(name)] as const))
  return Sidecar.create({ handlers: Object.fromEntries(sources) })
}

/** Delivers an event. Returns the status, or 0 if the process ended before it answered. */
async function deliver(sidecar: Sidecar, id: string, data: Record<string, unknown> = {}): Promise<number> {
  const raw = eventBytes({ id, data: { workMs: 20, ...data } })
  const signal = AbortSignal.timeout(answerLimitMs)
  const headers = { 'X-Service-Signature': sign(raw, testSecret) }
  return fetch(sidecar.url, { method: 'POST', headers, body: new Uint8Array(raw), signal }).then(
    (response) => response.status,
    (error: unknown) => {
      if (signal.aborted) throw error
      return 0
    },
  )
}

/** Deliveries at once. */
const connections = 60

const innocents = (round: string, count: number) => Array.from({ length: count }, (_, index) => `${round}_${index}`)

/** P9: the guilty run is dead after three crashes, all else is done with no attempt failed in any other way. */
async function expectOneConvicted(sidecar: Sidecar, acknowledged: readonly string[]): Promise<void> {
  const { work, missingSeqs } = await readLedger(sidecar.databaseFile)
  expect(missingSeqs).toBe(0)
  const guilty = work.filter(({ id, state }) => id === 'guilty' && state === 'dead')
  expect(guilty).toMatchObject([{ attempt: 3, crashed: 3 }])
  const others = work.filter((run) => !guilty.includes(run))
  expect(new Set(others.map(({ state }) => state))).toEqual(new Set(['done']))
  expect(others.filter(({ attempt, crashed }) => attempt !== 1 + crashed || crashed > 1)).toEqual([])
  const done = new Set(others.map(({ id }) => id))
  expect(acknowledged.filter((id) => !done.has(id))).toEqual([])
}

describe('P9: an event whose handler kills the process', () => {
  it('becomes a dead letter after three crashes, and all others are done', async () => {
    await using sidecar = await createSidecar()
    await sidecar.start()
    const before = innocents('before', counts.innocentsBesidePoison)
    for (let from = 0; from < before.length; from += connections) {
      const statuses = await Promise.all(before.slice(from, from + connections).map((id) => deliver(sidecar, id)))
      expect(new Set(statuses)).toEqual(new Set([200]))
    }
    const [, ...later] = await Promise.all(
      ['guilty', ...innocents('beside', 10)].map(async (id) => {
        const status = await deliver(sidecar, id, id === 'guilty' ? { deed: 'kill and wait' } : {})
        return { id, status }
      }),
    )
    expect(await sidecar.exited()).toMatchObject({ signal: 'SIGKILL' })
    expect(await sidecar.run()).toMatchObject({ signal: 'SIGKILL' })
    expect(await sidecar.run()).toMatchObject({ signal: 'SIGKILL' })

    await sidecar.start()
    expect(await deliver(sidecar, 'after')).toBe(200)
    await sidecar.drained()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    const beside = later.filter(({ status }) => status === 200).map(({ id }) => id)
    await expectOneConvicted(sidecar, [...before, ...beside, 'after'])
  })

  it('becomes a dead letter if the blocked process is killed; all deliveries are acknowledged', async () => {
    await using sidecar = await createSidecar()
    const acknowledged: string[] = []
    for (const life of [1, 2, 3]) {
      await sidecar.start()
      if (life === 1) expect(await deliver(sidecar, 'guilty', { deed: 'say and spin' })).toBe(200)
      await sidecar.log('spinning')
      for (const id of innocents(`life_${life}`, 20)) {
        expect(await deliver(sidecar, id)).toBe(200)
        acknowledged.push(id)
      }
      await sidecar.kill()
    }
    await sidecar.start()
    await sidecar.drained()
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    await expectOneConvicted(sidecar, acknowledged)
  })
})
