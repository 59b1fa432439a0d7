import { describe, expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { RecordingClient, toDelivery, type Delivery } from '../support/history.ts'
import { Sidecar, serveCommand } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'
import { canTrace, has } from '../support/tools.ts'
import { lossesOf } from './power-loss-check.ts'
import { PowerLossImage } from './power-loss-image.ts'
import { straceCommand } from './strace.ts'

const fsyncs = Array.from({ length: counts.killsBeforeFsync }, (_, n) => 1 + n)

const quiet = `export default { type: '*', run() {} }`
/** `serve`, behind the words of TRACED. */
const command = ['sh', '-c', 'exec $TRACED "$@"', 'sh', ...serveCommand]

function anEvent(n: number): Delivery {
  const id = `evt_${n}`
  return toDelivery(eventBytes({ id, data: { wallet_address: `0x${n % 3}`, network: 'solana' } }), { id })
}

/** Whether it listens; false if it is killed before. */
async function isReady(sidecar: Sidecar): Promise<boolean> {
  return sidecar.ready().then(
    () => true,
    () => false,
  )
}

describe.skipIf(!canTrace())('a kill exactly before an fsync (needs strace)', () => {
  test.each(fsyncs)('number %i, and the same event sent again: its 2xx is durable', async (when) => {
    await using sidecar = await Sidecar.create({ command, handlers: { 'quiet.js': quiet } })
    using client = new RecordingClient({ url: () => sidecar.url })
    const image = has('cc') ? await PowerLossImage.create(sidecar) : undefined

    const traced = straceCommand(`fsync:signal=KILL:when=${when}`, []).join(' ')
    sidecar.launch({ ...image?.env, TRACED: traced })
    const sent: Delivery[] = []
    if (await isReady(sidecar)) {
      // Each event is an fsync or more.
      for (let answer: unknown = 200; answer === 200 && sent.length <= when;) {
        const event = anEvent(sent.length)
        sent.push(event)
        answer = (await client.deliver(event)).answer
      }
      expect(client.requests.at(-1)).toMatchObject({ answer: 'reset' })
    }
    expect(await sidecar.exited()).toMatchObject({ signal: 'SIGKILL' })

    // The process died, the power did not: what was written, but not yet durable, is still to be seen.
    await sidecar.start({ ...image?.env, TRACED: '' })
    const again = [...sent.toReversed(), anEvent(sent.length)]
    for (const event of again) expect(await client.deliver(event)).toMatchObject({ answer: 200 })
    await sidecar.kill()
    await image?.cut()
    expect(await lossesOf(sidecar, client)).toEqual([])
  })
})
