import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createInbox, defineSink } from '../../src/index.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { deliver, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'
import { stageRunner } from './runner-stage.ts'

const trade = (id: string, network: string, amountUsd: number) => ({
  id,
  type: 'wallet.large_trade',
  data: { network, wallet_address: id, amount_usd: amountUsd },
})

describe('routes', () => {
  test('send each event once to every sink with a matching route', async () => {
    await using server = await AppServer.start()
    const to = (path: string, options: object = {}) => ({
      kind: 'forward',
      url: new URL(path, server.url).href,
      ...options,
    })
    const settings = {
      INBOX_SINKS: JSON.stringify({
        all: to('/all', { types: '*' }),
        whales: to('/whales', { types: 'wallet.*', where: { 'data.amount_usd': { gte: 100_000 } } }),
        solana: to('/solana'),
        items: to('/items', { types: 'token.new_listing', networks: 'base' }),
        idle: to('/idle'),
      }),
      INBOX_ROUTES: JSON.stringify([
        { networks: 'solana', to: ['solana', 'whales'] },
        { types: 'wallet.large_trade', where: { 'data.amount_usd': { gt: 1 } }, to: ['whales', 'all'] },
      ]),
    }
    const enqueuing = `import { defineHandler } from 'onchain-inbox'
      export default defineHandler({ type: 'pump.graduation', run: (event, ctx) => ctx.enqueue('items', 'left for it') })`
    await using app = await startTestApp({ settings, handlers: { 'enqueuing.mjs': enqueuing } })
    const events = [
      trade('big', 'ethereum', 100_000),
      trade('small', 'ethereum', 1),
      trade('sol', 'solana', 0),
      { id: 'grad', type: 'pump.graduation', data: { token_address: 'T' } },
      { id: 'other', type: 'token.new_kind', data: {} },
    ]
    for (const event of events) await deliver(app, eventBytes(event))
    await until(async () => {
      const stored = await Promise.all(['big', 'small', 'sol', 'grad', 'other'].map((id) => app.inbox.event(id)))
      return stored.every((event) => event!.runs.every(({ state }) => state === 'done' || state === 'unmatched'))
    }, 'all is sent')
    const got = server.requests.map(({ path, headers }) => `${path} ${String(headers['x-inbox-event-id'])}`)
    expect(got.toSorted()).toEqual(
      [
        ...['big', 'small', 'sol', 'grad', 'other'].map((id) => `/all ${id}`),
        '/whales big',
        '/whales sol',
        '/whales grad',
        '/solana sol',
        '/solana grad',
        // Enqueued by a handler.
        '/items grad',
      ].toSorted(),
    )
    const { data: dead } = await app.inbox.deadLetters({ limit: 10 })
    expect(dead).toEqual([])
  })
})

describe('a sink with `close`', () => {
  /** The first version fails. `close` writes a line to a file. */
  const source = (version: string) => `
    import { defineSink } from 'onchain-inbox'
    import { appendFileSync } from 'node:fs'
    import { join } from 'node:path'
    export default defineSink({
      name: 'held',
      type: '*',
      retry: { attempts: 100, baseMs: 1, capMs: 1 },
      breaker: { failures: 1, cooldownMs: 3_600_000, capMs: 3_600_000 },
      send() { if ('${version}' === 'v1') throw new Error('it is down') },
      close() { appendFileSync(join(import.meta.dirname, 'closed'), '${version}\\n') },
    })`

  test('is closed when its thread ends; its breaker is new after a reload', async () => {
    await using stage = await stageRunner([], { watch: true, files: { 'held.ts': source('v1') } })
    await stage.accept({ id: 'evt_1' }, { id: 'evt_2' })
    await until(async () => (await stage.run('evt_1', 'held')).attempts.length === 1, 'it has failed')
    expect((await stage.run('evt_2', 'held')).attempts.length).toBeLessThanOrEqual(1)
    await writeFile(join(stage.handlersDir, 'held.ts'), source('v2'))
    await stage.drained()
    expect((await stage.run('evt_2', 'held')).state).toBe('done')
    await until(() => stage.linesOf('closed')[0] === 'v1', 'the first is closed')
    await stage.runner.stop(1_000)
    expect(stage.linesOf('closed')).toContain('v2')
  })

  test('is closed by an embedded inbox, even if another `close` throws', async () => {
    const closed: string[] = []
    const sink = (name: string) =>
      defineSink({
        name,
        send() {},
        close() {
          closed.push(name)
          if (name === 'first') throw new Error('it is gone already')
        },
      })
    const inbox = createInbox({
      secrets: `main:${testSecret}`,
      database: 'memory:',
      handlers: [sink('first'), sink('second')],
      log: false,
    })
    await inbox.start()
    await inbox.stop()
    expect(closed).toEqual(['first', 'second'])
  })
})
