import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInbox, defineHandler, defineSink } from 'onchain-inbox'
import { createEvent, createTestInbox, signedRequest } from 'onchain-inbox/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, testSecret } from '../support/app.ts'
import { deliver } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'
import { apiKey } from './emulator-stage.ts'
import { busiest, startClientStage, type ClientStage } from './client-stage.ts'

let stage: ClientStage
let event: object & { readonly id: string }
let wallet: string
beforeAll(async () => {
  stage = await startClientStage()
  wallet = busiest(stage).address
  event = createEvent('wallet.large_trade', { data: { wallet_address: wallet, network: 'ethereum' } })
})
afterEach(() => stage.heal())
afterAll(() => stage[Symbol.asyncDispose]())

const lookUp = defineHandler({
  name: 'look-up',
  type: 'wallet.large_trade',
  async run({ data }, ctx) {
    const { data: overview } = await ctx.api.getWallet({ address: data.wallet_address, network: 'ethereum' })
    ctx.state.set('address', overview.address)
    if (ctx.api !== ctx.api) throw new Error('another client each time')
  },
})

describe('ctx.api in createTestInbox', () => {
  test('is the given client, for handlers and sinks', async () => {
    const seen: number[] = []
    const sink = defineSink({
      name: 'networks',
      type: 'wallet.large_trade',
      async send(_, ctx) {
        seen.push((await ctx.api.listNetworks()).data.length)
      },
    })
    await using inbox = await createTestInbox({ handlers: [lookUp, sink], api: stage.api })
    await inbox.deliver(event)
    await until(async () => (await inbox.runs(event.id)).every(({ state }) => state === 'done'), 'handled')
    expect(await inbox.state('look-up')).toEqual({ address: wallet })
    expect(seen).toEqual([7])
  })

  test('without a given client the run is a dead letter that names the settings', async () => {
    await using inbox = await createTestInbox({ handlers: [lookUp] })
    await inbox.deliver(event)
    await inbox.idle()
    expect(await inbox.deadLetters()).toMatchObject([
      {
        error: { name: 'handler_terminal', message: expect.stringMatching(/INBOX_API_URL and INBOX_API_KEY.*apiUrl/) },
      },
    ])
  })
})

describe('ctx.api in the sidecar', () => {
  const source = (timeoutMs: number) => `
    import { defineHandler } from 'onchain-inbox'
    import { ApiError } from 'onchain-inbox/client'
    export default defineHandler({
      type: 'wallet.large_trade',
      timeoutMs: ${timeoutMs},
      retry: { attempts: 1 },
      async run({ data }, ctx) {
        const { address } = (await ctx.api.getWallet({ address: data.wallet_address, network: data.network })).data
        const error = await ctx.api.get('/trending').catch((thrown) => thrown)
        if (!(error instanceof ApiError)) throw new Error('not the class of the package')
        ctx.state.set('found', { address, status: error.status })
      },
    })`

  async function start(timeoutMs = 60_000) {
    const keys = await createTempDir()
    await writeFile(join(keys.path, 'key'), `${apiKey}\n`)
    const settings = { INBOX_API_URL: stage.stage.emulator.url ?? '', INBOX_API_KEY_FILE: join(keys.path, 'key') }
    const app = await startTestApp({ settings, handlers: { 'look-up.ts': source(timeoutMs) } })
    await deliver(app, Buffer.from(JSON.stringify(event)))
    const runs = async () => (await app.inbox.event(event.id))?.runs ?? []
    return Object.assign(app, { runs, keys })
  }

  test('is created from the settings, with the key from its file', async () => {
    await using app = await start()
    await using _ = app.keys
    await until(async () => (await app.runs()).every(({ state }) => state === 'done'), 'handled')
    const state = await app.inbox.readState('look-up', { prefix: '', after: null, limit: 9 })
    expect(state.map(({ value }) => JSON.parse(value) as object)).toEqual([{ address: wallet, status: 501 }])
  })

  test('aborts its calls when the attempt times out', async () => {
    await stage.fault({ kind: 'too-many-requests', retryAfterS: 60 })
    await using app = await start(500)
    await using _ = app.keys
    await until(async () => (await app.runs()).every(({ state }) => state === 'dead'), 'given up')
    const [run] = await app.runs()
    expect(run?.attempts).toMatchObject([{ error: { name: 'handler_timeout' } }])
  })
})

test('ctx.api in createInbox is created from apiUrl and apiKey, and needs both', async () => {
  const options = { secrets: testSecret, handlers: [lookUp], database: 'memory:', log: false } as const
  expect(() => createInbox({ ...options, apiKey })).toThrow('apiUrl: expected apiUrl and apiKey, or neither')
  expect(() => createInbox({ ...options, apiKey, apiUrl: 'http://example.com' })).toThrow(/apiUrl must be .*plain http/)
  await using inbox = createInbox({ ...options, apiUrl: stage.stage.emulator.url ?? '', apiKey })
  await inbox.start()
  const handled = new Promise((resolve) => inbox.events.once('handled', resolve))
  const { headers, body } = signedRequest(event, testSecret)
  await inbox.receive({ method: 'POST', headers, body: Buffer.from(body) })
  expect(await handled).toMatchObject({ handler: 'look-up', eventId: event.id })
})
