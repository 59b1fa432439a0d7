import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { eventDelivery, RecordingClient } from '../support/history.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { until } from '../support/until.ts'

/** Counts its runs, and writes the context of each. */
const noting = `
import { appendFileSync } from 'node:fs'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'wallet.*',
  // One at a time: a run that is in conflict over its state is repeated, with all that it prints.
  concurrency: 1,
  async run(event, ctx) {
    ctx.state.set('runs', ((await ctx.state.get('runs')) ?? 0) + 1)
    ctx.enqueue('sink', event.id)
    const { isReplay, idempotencyKey } = ctx
    appendFileSync(process.env.EFFECTS, JSON.stringify({ id: event.id, isReplay, idempotencyKey }) + '\\n')
  },
})`
const sink = `
import { appendFileSync } from 'node:fs'
import { defineSink } from 'onchain-inbox'
export default defineSink({
  send([item]) {
    appendFileSync(process.env.EFFECTS, JSON.stringify({ sent: item.payload, idempotencyKey: item.idempotencyKey }) + '\\n')
  },
})`

const anEvent = (id: string, type = 'wallet.large_trade') => eventDelivery({ id, type })

async function start(handlers: Readonly<Record<string, string>> = { 'noting.mjs': noting, 'sink.mjs': sink }) {
  const sidecar = await Sidecar.start({ handlers })
  const client = new RecordingClient({ url: () => sidecar.url })
  const json = async (path: string, body?: object, method = 'POST') => {
    const response = await sidecar.admin(path, body === undefined ? {} : { method, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return {
    sidecar,
    client,
    json,
    lines: async () =>
      (await readFile(sidecar.effectsFile, 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    /** Runs a command against the sidecar. Returns its output; rejects with the whole result on failure. */
    command: async (...args: string[]) => {
      const env = { INBOX_ADMIN_TOKEN: testToken }
      const result = await runCli([...args, '--admin-url', sidecar.adminUrl], { cwd: sidecar.dir, env })
      if (result.code !== 0) throw Object.assign(new Error('the command failed'), result)
      return result.out
    },
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]()
      await sidecar[Symbol.asyncDispose]()
    },
  }
}

describe('a replay in the product', () => {
  test('repeats runs with the same keys on the live state, and keeps the history', async () => {
    await using stage = await start()
    const { sidecar, client, json, lines } = stage
    for (const id of ['a', 'b']) await client.deliver(anEvent(id))
    await sidecar.drained()
    expect(await json('replays', { type: 'wallet.large_trade', dryRun: true })).toEqual({
      status: 200,
      body: { dry_run: true, events: 2, skipped: 0 },
    })
    const started = await json('replays', { type: 'wallet.large_trade' })
    expect(started.body).toMatchObject({
      id: 1,
      state: 'running',
      filter: { type: 'wallet.large_trade' },
      new_keys: false,
    })
    await until(async () => (await json('replays/1')).body['state'] === 'done', 'the replay is done')
    // Runs of the handler, and the item that each enqueued.
    expect((await json('replays/1')).body).toMatchObject({ progress: 1, events: 2, runs: 2, open_runs: 0, skipped: 0 })
    const keys = (await lines()).map((line) => line['idempotencyKey'])
    expect(keys.map(String).toSorted()).toEqual([
      'noting:a',
      'noting:a',
      'noting:a:0',
      'noting:a:0',
      'noting:b',
      'noting:b',
      'noting:b:0',
      'noting:b:0',
    ])
    expect((await lines()).filter((line) => line['isReplay'] === true)).toHaveLength(2)
    const { runs } = (await json('events/a')).body as { runs: readonly { handler: string; replay: number | null }[] }
    expect(runs.map(({ handler, replay }) => [handler, replay])).toEqual([
      ['noting', null],
      ['sink', null],
      ['noting', 1],
      ['sink', 1],
    ])
    await json('replays', { ids: ['a'] })
    await until(async () => (await json('replays/2')).body['state'] === 'done', 'the replay of one is done')
    await json('replays', { ids: ['b'], new_keys: true })
    await until(async () => (await json('replays/3')).body['state'] === 'done', 'the replay with new keys is done')
    const last = (await lines()).slice(-2).map((line) => line['idempotencyKey'])
    expect(last).toEqual(['noting:b:replay-3', 'noting:b:replay-3:0'])
    expect((await json('audit?limit=1')).body['data']).toMatchObject([
      { action: 'replay.start', detail: { replay: 3, newKeys: true, filter: { ids: ['b'] } } },
    ])
  })

  test('can be counted, awaited, listed, shown and cancelled by commands', async () => {
    await using stage = await start()
    const { sidecar, client, command } = stage
    for (const id of ['a', 'b', 'c']) await client.deliver(anEvent(id))
    await sidecar.drained()
    expect(await command('replay', '--type', 'wallet.large_trade', '--dry-run')).toBe('3 events would be replayed\n')
    expect(await command('replay', 'a', 'b', '--wait')).toMatch(
      /^replay\nid +1\n[^]*state +done\n[^]*filter\.ids +a, b\n/,
    )
    await stage.json('handlers/noting/pause', {})
    expect(await command('replay', '--handler', 'noting', '--rate', '5')).toMatch(/per_second +5\n[^]*follow it/)
    await until(async () => (await stage.json('replays/2')).body['runs'] === 3, 'runs wait')
    expect(JSON.parse(await command('replays', 'cancel', '2', '--json'))).toMatchObject({
      state: 'cancelled',
      open_runs: 0,
    })
    expect(await command('replays', 'cancel', '1')).toMatch(
      /^replay 1 has already ended: nothing was cancelled\n\nreplay\nid +1\n[^]*state +done\n/,
    )
    await expect(command('replay', 'a', 'nope')).rejects.toMatchObject({
      code: 1,
      errors: 'not_found: there is no event with the id nope; nothing was started\n',
    })
    expect(await command('replays', 'list')).toMatch(/^id +created_at[^]*\n2 +[^]*cancelled[^]*\n1 +[^]*done/)
    expect(await command('replays', 'show', '1')).toMatch(/events +2\n/)
  })
})

describe('an operator', () => {
  test('changes the concurrency of a running handler', async () => {
    const gated = `
      import { defineHandler } from 'onchain-inbox'
      export default defineHandler({
        type: '*',
        order: 'none',
        concurrency: 1,
        timeoutMs: 600_000,
        run(event, ctx) {
          console.log('began')
          return new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        },
      })`
    await using stage = await start({ 'gated.mjs': gated })
    const { sidecar, client, json } = stage
    const began = () => sidecar.output.text.split('\n').filter((line) => line === 'began').length
    for (let n = 0; n < 20; n += 1) await client.deliver(anEvent(`e${n}`))
    await until(() => began() === 1, 'one run began')
    expect(await json('handlers/gated', { concurrency: 5 }, 'PATCH')).toEqual({
      status: 200,
      body: { handler: 'gated', concurrency: 5 },
    })
    await until(() => began() === 5, 'five run')
    const { data } = (await json('handlers')).body as { data: readonly { settings: { concurrency: number } }[] }
    expect(data[0]!.settings.concurrency).toBe(5)
    expect(await stage.command('handlers', 'set', 'gated', '--concurrency', 'default')).toMatch(/default concurrency/)
    expect((await json('handlers/nobody', { concurrency: 5 }, 'PATCH')).status).toBe(404)
    expect((await json('handlers/gated', { concurrency: 0 }, 'PATCH')).status).toBe(400)
  })
})
