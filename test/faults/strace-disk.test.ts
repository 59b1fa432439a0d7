import { describe, expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { answerLimitMs, isAcknowledged, RecordingClient, toDelivery, type RecordedRequest } from '../support/history.ts'
import { effectsHandler } from '../support/ledger.ts'
import { Load } from '../support/load.ts'
import { RawConnection, requestBytes } from '../support/raw-http.ts'
import { Sidecar, serveCommand, type SidecarOptions } from '../support/sidecar.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { canTrace, has } from '../support/tools.ts'
import { until } from '../support/until.ts'
import { lossesOf } from './power-loss-check.ts'
import { PowerLossImage } from './power-loss-image.ts'
import { injectFault, straceCommand } from './strace.ts'

const workers = 16

/** A sidecar with a load that begins with events which are stored, and the image of its disk where that can be made. */
async function aStage(options: SidecarOptions = {}) {
  const handlers = { 'effects.mjs': effectsHandler() }
  const sidecar = await Sidecar.create({ handlers, ...options })
  const client = new RecordingClient({ url: () => sidecar.url })
  const random = createRandomStream('strace', 'load')
  const load = new Load({ client, workers, keys: 50, random: () => random.uniform() })
  const image = has('cc') ? await PowerLossImage.create(sidecar) : undefined
  return {
    sidecar,
    client,
    load,
    image,
    start: () => sidecar.start(image?.env),
    /** Sends until so many were acknowledged. */
    async acknowledge(count: number): Promise<void> {
      const acknowledged = load.acknowledgements(count)
      const sending = load.run()
      await acknowledged
      load.stop()
      await sending
    },
    /** Ends all, cuts the power, and looks for what is missing. */
    async losses(): Promise<string[]> {
      await sidecar.kill()
      await image?.cut()
      return lossesOf(sidecar, client)
    },
    async [Symbol.asyncDispose]() {
      load.stop()
      client[Symbol.dispose]()
      await sidecar[Symbol.asyncDispose]()
    },
  }
}

const deliveries = (requests: readonly RecordedRequest[]) => requests.filter(({ op }) => op === 'deliver')
const readiness = async (sidecar: Sidecar) => (await fetch(new URL('/readyz', sidecar.url))).status

/** Its run never ends: it waits for a promise, or in a native call, which blocks the thread. */
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

describe.skipIf(!canTrace())('a disk whose fsync fails (needs strace)', () => {
  test.each([
    ['once', 'fsync:error=EIO:when=1', 'promise'],
    ['for good', 'fsync:error=EIO', 'promise'],
    ['for good, with a handler stuck in a native call,', 'fsync:error=EIO', 'native'],
  ])('%s gets no 2xx, ends the process with 75, and loses nothing that had one', async (_, fault, id) => {
    await using stage = await aStage({ handlers: { 'effects.mjs': effectsHandler(), 'endless.mjs': endlessHandler } })
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(200)
    await sidecar.drained()
    await client.deliver(toDelivery(eventBytes({ id, type: 'test.endless' }), { id }))
    await sidecar.log('endless began')

    await using _fault = await injectFault(sidecar.pid, fault)
    const before = client.requests.length
    const sending = load.run()
    await sidecar.log('exiting after failure')
    expect(await sidecar.exited()).toEqual({ code: 75, signal: null })
    await sending
    const affected = deliveries(client.requests.slice(before))
    expect(affected.filter(isAcknowledged)).toEqual([])
    expect(affected.map(({ answer }) => answer)).toContain(503)
    expect(sidecar.output.text).toMatch(/"level":"fatal".*last commit in doubt \(SQLITE_IOERR_FSYNC\)/)

    await stage.start()
    await load.heal()
    expect(await stage.losses()).toEqual([])
  })

  test('during a stop ends the process with 75 all the same', async () => {
    await using sidecar = await Sidecar.start()
    using client = new RecordingClient({ url: () => sidecar.url })
    using late = await RawConnection.open(Number(new URL(sidecar.url).port))
    const bytes = requestBytes(delivery(eventBytes({ id: 'late' })))
    late.send(bytes.subarray(0, -1))
    const event = toDelivery(eventBytes({ id: 'before' }), { id: 'before' })
    expect(await client.deliver(event)).toMatchObject({ answer: 200 })

    await using _fault = await injectFault(sidecar.pid, 'fsync:error=EIO')
    sidecar.signal('SIGTERM')
    await sidecar.log('stopping')
    late.send(bytes.subarray(-1))
    expect(await sidecar.exited()).toEqual({ code: 75, signal: null })
    expect(sidecar.output.text).toContain('exiting after failure')
  })

  test.each([1, 4, 8, 12])(
    'from number %i of a first start on: it ends with 75, and the next start is whole',
    async (n) => {
      const command = ['sh', '-c', 'exec $TRACED "$@"', 'sh', ...serveCommand]
      await using sidecar = await Sidecar.create({ command })
      const traced = straceCommand(`fsync:error=EIO:when=${n}+`, []).join(' ')
      expect(await sidecar.run({ TRACED: traced })).toEqual({ code: 75, signal: null })
      expect(sidecar.output.text).toMatch(/inbox\.db cannot be opened: .*SQLITE_IOERR|EIO/)
      await sidecar.start({ TRACED: '' })
      using client = new RecordingClient({ url: () => sidecar.url })
      const event = toDelivery(eventBytes({ id: 'a' }), { id: 'a' })
      expect(await client.deliver(event)).toMatchObject({ answer: 200 })
    },
  )
})

describe.skipIf(!canTrace())('a disk whose writes fail (needs strace)', () => {
  test('gets 503 and no readiness while they do, and takes events again without a restart', async () => {
    await using stage = await aStage()
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(200)
    await sidecar.drained()

    const fault = await injectFault(sidecar.pid, 'pwrite64:error=EIO')
    const before = client.requests.length
    try {
      for (let n = 0; n < 20; n += 1) {
        const id = `unlucky_${n}`
        expect(await client.deliver(toDelivery(eventBytes({ id }), { id }))).toMatchObject({ answer: 503 })
      }
      expect(await readiness(sidecar)).toBe(503)
      expect(client.requests.slice(before).filter(isAcknowledged)).toEqual([])
    } finally {
      await fault[Symbol.asyncDispose]()
    }

    await until(async () => (await readiness(sidecar)) === 200, 'ready again', 5_000)
    await stage.acknowledge(200)
    await load.heal()
    expect(sidecar.lives).toHaveLength(1)
    expect(await stage.losses()).toEqual([])
  })
})

describe.skipIf(!canTrace())('a slow disk (needs strace)', () => {
  /** Asks for `/healthz` all the time; gives how long the slowest answer took, `Infinity` if one was not good. */
  function watchHealth(sidecar: Sidecar) {
    let slowestMs = 0
    let isDone = false
    const watch = async () => {
      while (!isDone) {
        const startedAt = performance.now()
        const isGood = await fetch(new URL('/healthz', sidecar.url)).then(
          ({ status }) => status === 200,
          () => false,
        )
        slowestMs = Math.max(slowestMs, isGood ? performance.now() - startedAt : Infinity)
        isDone ||= !isGood
      }
    }
    const watching = watch()
    return {
      async end(): Promise<number> {
        isDone = true
        await watching
        return slowestMs
      },
    }
  }

  test('that takes 0.3 s for an fsync makes acknowledgements late, and nothing else', async () => {
    await using stage = await aStage()
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(100)
    const before = client.requests.length
    const fault = await injectFault(sidecar.pid, 'fsync:delay_enter=300000')
    const health = watchHealth(sidecar)
    try {
      await stage.acknowledge(100)
    } finally {
      await fault[Symbol.asyncDispose]()
    }
    expect(await health.end()).toBeLessThan(answerLimitMs)
    const acknowledged = deliveries(client.requests.slice(before)).filter(isAcknowledged)
    expect(Math.min(...acknowledged.map(({ startedAt, endedAt }) => endedAt - startedAt))).toBeGreaterThan(250)
    await load.heal()
    expect(await stage.losses()).toEqual([])
  })

  test('that takes longer than the ack timeout gets 503 in time, and is well again when the disk is', async () => {
    await using stage = await aStage({ env: { INBOX_ACK_TIMEOUT_MS: '1000' } })
    const { sidecar, client, load } = stage
    await stage.start()
    await stage.acknowledge(100)
    const before = client.requests.length
    const fault = await injectFault(sidecar.pid, 'fsync:delay_enter=6000000')
    const health = watchHealth(sidecar)
    const sending = load.run()
    try {
      await until(() => client.requests.slice(before).filter(({ answer }) => answer === 503).length > 50, 'many 503')
    } finally {
      load.stop()
      await sending
      await fault[Symbol.asyncDispose]()
    }
    expect(await health.end()).toBeLessThan(answerLimitMs)
    const slow = deliveries(client.requests.slice(before))
    expect(new Set(slow.map(({ answer }) => answer))).toContain(503)
    expect(Math.max(...slow.map(({ startedAt, endedAt }) => endedAt - startedAt))).toBeLessThan(answerLimitMs)

    await stage.acknowledge(100)
    await load.heal()
    expect(sidecar.lives).toHaveLength(1)
    expect(await stage.losses()).toEqual([])
  })
})
