import { describe, expect, test } from 'vitest'
import {
  answerLimitMs,
  eventDelivery,
  isAcknowledged,
  RecordingClient,
  type RecordedRequest,
} from '../support/history.ts'
import { RawConnection, requestBytes } from '../support/raw-http.ts'
import { Sidecar, serveCommand, type SidecarOptions } from '../support/sidecar.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { canTrace, has } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { lossesOf } from './power-loss-check.ts'
import { PowerLossImage } from './power-loss-image.ts'
import { createStage } from './stage.ts'
import { injectFault, straceCommand } from './strace.ts'

/** A stage that records disk writes to simulate power cuts, if `cc` is installed. */
async function createDiskStage(options: SidecarOptions = {}) {
  const stage = await createStage({ keys: 50, ...options })
  const image = has('cc') ? await PowerLossImage.create(stage.sidecar) : undefined
  return {
    ...stage,
    start: () => stage.sidecar.start(image?.env),
    /** Kills the process, cuts the power and looks for missing events. */
    async losses(): Promise<string[]> {
      await stage.sidecar.kill()
      await image?.cut()
      return lossesOf(stage.sidecar, stage.client)
    },
  }
}

const deliveries = (requests: readonly RecordedRequest[]) => requests.filter(({ op }) => op === 'deliver')
const readiness = async (sidecar: Sidecar) => (await fetch(new URL('/readyz', sidecar.url))).status

/** A run that never ends: it waits for a promise, or blocks the thread in a native call. */
const endlessHandler = `
import { execFileSync } from 'node:child_process'
import { openSync } from 'node:fs'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'test.endless',
  run(event, ctx) {
    ctx.log.info({}, 'endless began')
    if (event.id === 'native') openSync((execFileSync('mkfifo', ['pipe']), 'pipe'))
    return new Promise(() => {})
  },
})
`

describe.skipIf(!canTrace())('a failing fsync (needs strace)', () => {
  test.each([
    ['once', 'fsync:error=EIO:when=1', 'promise'],
    ['for good, with a handler in a native call,', 'fsync:error=EIO', 'native'],
  ])('%s acknowledges nothing, ends the process with 75, and loses no acknowledged event', async (_, fault, id) => {
    await using stage = await createDiskStage({ handlers: { 'endless.mjs': endlessHandler } })
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(60)
    await sidecar.drained()
    await client.deliver(eventDelivery({ id, type: 'test.endless' }))
    await sidecar.log('endless began')

    await using _fault = await injectFault(sidecar.pid, fault)
    const before = client.requests.length
    const sending = load.run()
    await sidecar.log('exiting after failure')
    expect(await sidecar.exited()).toEqual({ code: 75, signal: null })
    await sending
    const affected = deliveries(client.requests.slice(before))
    expect(affected.filter(isAcknowledged)).toEqual([])
    expect(sidecar.output.text).toMatch(/"level":"fatal".*last commit in doubt \(SQLITE_IOERR_FSYNC\)/)

    await stage.start()
    await load.heal()
    expect(await stage.losses()).toEqual([])
  })

  test('during a stop ends the process with 75', async () => {
    await using sidecar = await Sidecar.start()
    using client = new RecordingClient({ url: () => sidecar.url })
    using late = await RawConnection.open(Number(new URL(sidecar.url).port))
    const bytes = requestBytes(delivery(eventBytes({ id: 'late' })))
    late.send(bytes.subarray(0, -1))
    const event = eventDelivery({ id: 'before' })
    expect(await client.deliver(event)).toMatchObject({ answer: 200 })

    await using _fault = await injectFault(sidecar.pid, 'fsync:error=EIO')
    sidecar.signal('SIGTERM')
    await sidecar.log('stopping')
    late.send(bytes.subarray(-1))
    expect(await sidecar.exited()).toEqual({ code: 75, signal: null })
    expect(sidecar.output.text).toContain('exiting after failure')
  })

  test('from number 8 of a first start on ends the process with 75; the next start works', async () => {
    const command = ['sh', '-c', 'exec $TRACED "$@"', 'sh', ...serveCommand]
    await using sidecar = await Sidecar.create({ command })
    const traced = straceCommand('fsync:error=EIO:when=8+', []).join(' ')
    expect(await sidecar.run({ TRACED: traced })).toEqual({ code: 75, signal: null })
    expect(sidecar.output.text).toMatch(/inbox\.db cannot be opened: .*SQLITE_IOERR|EIO/)
    await sidecar.start({ TRACED: '' })
    using client = new RecordingClient({ url: () => sidecar.url })
    const event = eventDelivery({ id: 'a' })
    expect(await client.deliver(event)).toMatchObject({ answer: 200 })
  })
})

describe.skipIf(!canTrace())('failing writes (needs strace)', () => {
  test('return 503 and no readiness; afterwards events are accepted without a restart', async () => {
    await using stage = await createDiskStage()
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(60)
    await sidecar.drained()

    const fault = await injectFault(sidecar.pid, 'pwrite64:error=EIO')
    const before = client.requests.length
    try {
      for (let n = 0; n < 20; n += 1) {
        const id = `unlucky_${n}`
        expect(await client.deliver(eventDelivery({ id }))).toMatchObject({ answer: 503 })
      }
      expect(await readiness(sidecar)).toBe(503)
      expect(client.requests.slice(before).filter(isAcknowledged)).toEqual([])
    } finally {
      await fault[Symbol.asyncDispose]()
    }

    await until(async () => (await readiness(sidecar)) === 200, 'ready again', 5_000)
    await stage.acknowledge(60)
    await load.heal()
    expect(sidecar.lives).toHaveLength(1)
    expect(await stage.losses()).toEqual([])
  })
})

describe.skipIf(!canTrace())('a slow disk (needs strace)', () => {
  test('slower than the ack timeout returns 503 in time, and recovers', async () => {
    await using stage = await createDiskStage({ env: { INBOX_ACK_TIMEOUT_MS: '1000' } })
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(50)
    const before = client.requests.length
    const fault = await injectFault(sidecar.pid, 'fsync:delay_enter=3000000')
    const sending = load.run()
    try {
      await until(async () => {
        const signal = AbortSignal.timeout(answerLimitMs)
        expect((await fetch(new URL('/healthz', sidecar.url), { signal })).status).toBe(200)
        return client.requests.slice(before).filter(({ answer }) => answer === 503).length > 50
      }, 'many 503')
    } finally {
      load.stop()
      await sending
      await fault[Symbol.asyncDispose]()
    }
    const slow = deliveries(client.requests.slice(before))
    expect(new Set(slow.map(({ answer }) => answer))).toContain(503)
    expect(Math.max(...slow.map(({ startedAt, endedAt }) => endedAt - startedAt))).toBeLessThan(answerLimitMs)

    await stage.acknowledge(50)
    await load.heal()
    expect(sidecar.lives).toHaveLength(1)
    expect(await stage.losses()).toEqual([])
  })
})
