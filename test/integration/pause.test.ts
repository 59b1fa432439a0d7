import { expect, test } from 'vitest'
import { RecordingClient, toDelivery } from '../support/history.ts'
import { effectsHandler, readEffects } from '../support/ledger.ts'
import { Sidecar } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'

const anEvent = (id: string) => toDelivery(eventBytes({ id, type: 'test.event' }), { id })

test('a paused handler runs nothing, also after a kill, while events are accepted; resumed, it handles them in order', async () => {
  await using sidecar = await Sidecar.start({ handlers: { 'effects.mjs': effectsHandler({ concurrency: 1 }) } })
  using client = new RecordingClient({ url: () => sidecar.url })
  const post = async (path: string) => (await sidecar.admin(path, { method: 'POST' })).json()
  const handled = async () =>
    (await readEffects(sidecar.effectsFile)).filter(({ step }) => step === 'end').map(({ id }) => id)

  await client.deliver(anEvent('before'))
  await sidecar.drained()
  expect(await post('handlers/effects/pause')).toEqual({ handler: 'effects', paused: true })
  expect(await client.deliver(anEvent('first'))).toMatchObject({ answer: 200 })
  await sidecar.kill()
  await sidecar.start()
  expect(await client.deliver(anEvent('second'))).toMatchObject({ answer: 200 })
  const { data } = (await (await sidecar.admin('handlers')).json()) as { data: readonly object[] }
  expect(data).toMatchObject([{ name: 'effects', paused: true, ready: 2, running: 0 }])
  expect(await handled()).toEqual(['before'])

  expect(await post('handlers/effects/resume')).toEqual({ handler: 'effects', paused: false })
  await sidecar.drained()
  expect(await handled()).toEqual(['before', 'first', 'second'])
})
