import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { answerLimitMs } from '../support/history.ts'
import { Sidecar } from '../support/sidecar.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import type { Attack } from './idle-uploads-attack.ts'

const fresh = new Agent({ keepAlive: false })

/** Sends a delivery from an address; returns its status or error message. */
function deliver(url: string, id: string, localAddress: string): Promise<string> {
  const { headers, body } = delivery(eventBytes({ id }))
  return new Promise((resolve) => {
    request(url, {
      method: 'POST',
      agent: fresh,
      localAddress,
      headers: { ...headers, 'Content-Length': body!.length },
    })
      .on('response', (response) => response.resume().on('end', () => resolve(String(response.statusCode))))
      .on('error', ({ message }) => resolve(message))
      .end(body)
  })
}

test('P6 2,000 idle uploads block neither deliveries, from any address, nor probes', async () => {
  const { idleUploadMs, idleUploadDeliveries: deliveries } = counts
  await using sidecar = await Sidecar.start()
  const port = Number(new URL(sidecar.url).port)
  const attack = new Worker(new URL('idle-uploads-attack.ts', import.meta.url), {
    workerData: { port, connections: 2_000 } satisfies Attack,
  })
  await once(attack, 'message')

  const outcomes: string[] = []
  const durations = createHistogram()
  const send = async (index: number, retriesLeft = 4): Promise<void> => {
    const startedAt = process.hrtime.bigint()
    const outcome = await deliver(sidecar.url, `evt_${index}`, `127.0.0.${1 + (index % 2)}`)
    durations.record(process.hrtime.bigint() - startedAt)
    if (outcome !== '503' || retriesLeft === 0) return void outcomes.push(outcome)
    // A busy machine sheds load for a moment, and the sender retries. Uploads that take all room would not end.
    await delay(1_000)
    await send(index, retriesLeft - 1)
  }
  const sent: Promise<void>[] = []
  for (let index = 0; index < deliveries; index++) {
    sent.push(send(index))
    await delay(idleUploadMs / deliveries)
  }
  await Promise.all(sent)
  for (const path of ['/healthz', '/readyz']) expect((await fetch(new URL(path, sidecar.url))).status).toBe(200)
  await attack.terminate()

  const failed = outcomes.filter((outcome) => outcome !== '200')
  expect(failed.length, `failed: ${failed.slice(0, 5).join()}`).toBeLessThanOrEqual(deliveries / 100)
  expect(durations.percentile(99) / 1e6).toBeLessThan(answerLimitMs)
})
