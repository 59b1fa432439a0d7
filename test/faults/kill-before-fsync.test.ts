import { describe, expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { eventDelivery, RecordingClient, type Delivery } from '../support/history.ts'
import { Sidecar } from '../support/sidecar.ts'
import { has } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { lossesOf } from './power-loss-check.ts'
import { PowerLossImage } from './power-loss-image.ts'

const quiet = `export default { type: '*', run() {} }`

const anEvent = (n: number) =>
  eventDelivery({ id: `evt_${n}`, data: { wallet_address: `0x${n % 3}`, network: 'solana' } })

/** False if the process ends before it listens. */
async function isReady(sidecar: Sidecar): Promise<boolean> {
  return sidecar.ready().then(
    () => true,
    () => false,
  )
}

describe.skipIf(!has('cc'))('after a kill before fsync (needs cc)', () => {
  test.each(counts.killedFsyncs)('number %i, the 2xx of a repeated delivery is durable', async (when) => {
    await using sidecar = await Sidecar.create({ handlers: { 'quiet.js': quiet } })
    using client = new RecordingClient({ url: () => sidecar.url })
    const image = await PowerLossImage.create(sidecar)

    sidecar.launch({ ...image.env, POWER_LOSS_KILL_AT: String(when) })
    const sent: Delivery[] = []
    if (await isReady(sidecar)) {
      // Each event causes at least one fsync, unless a busy machine rejects it.
      for (let answer: unknown; answer !== 'reset' && sent.length < 200;) {
        const event = anEvent(sent.length)
        sent.push(event)
        answer = (await client.deliver(event)).answer
      }
      expect(client.requests.at(-1)).toMatchObject({ answer: 'reset' })
    }
    expect(await sidecar.exited()).toMatchObject({ signal: 'SIGKILL' })

    // The process died, not the machine: written data is visible, even if it is not durable yet.
    await sidecar.start(image.env)
    const again = [...sent.toReversed(), anEvent(sent.length)]
    for (const event of again) await until(async () => (await client.deliver(event)).answer === 200, event.id)
    await sidecar.kill()
    await image.cut()
    expect(await lossesOf(sidecar, client)).toEqual([])
  })
})
