import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express, { type Express } from 'express'
import { createInbox, defineHandler, type EmbeddedInbox, type EmbeddedInboxOptions } from 'onchain-inbox'
import { describe, expect, test } from 'vitest'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { systemClock } from '../../src/base/clock.ts'
import { embedInbox } from '../../src/app/library/create-inbox.ts'
import { parseOptions } from '../../src/app/library/options.ts'
import { testSecret } from '../support/app.ts'
import { recordingLog } from '../support/recording-log.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const defaults = { secrets: testSecret, database: 'memory:', handlers: [], log: false } as const

/** Mounts a started inbox on a real socket. */
async function mounted(options: Partial<EmbeddedInboxOptions>, mount: (app: Express, inbox: EmbeddedInbox) => void) {
  const inbox = createInbox({ ...defaults, ...options })
  await inbox.start()
  return serve(inbox, mount)
}

async function serve(inbox: EmbeddedInbox, mount: (app: Express, inbox: EmbeddedInbox) => void) {
  const app = express()
  // Otherwise Express prints errors.
  app.set('env', 'test')
  mount(app, inbox)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    inbox,
    url,
    post: async (path: string, body: Uint8Array, headers: Record<string, string> = {}) => {
      const signed = delivery(body).headers as Record<string, string>
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { ...signed, ...headers },
        body: new Uint8Array(body),
      })
      return { status: response.status, headers: response.headers, body: (await response.json()) as unknown }
    },
    async [Symbol.asyncDispose]() {
      await inbox.stop()
      server.closeAllConnections()
      server.close()
    },
  }
}

const atWebhooks = (app: Express, inbox: EmbeddedInbox) => void app.use('/webhooks', inbox.router)
const refusal = (code: string) => ({ status: 503, body: { error: { code, message: expect.any(String) as string } } })
const accepted = (id: string) => ({ status: 200, body: { status: 'accepted', id } })

describe('the router', () => {
  test('works at any mount point', async () => {
    await using stage = await mounted({}, (app, inbox) => {
      atWebhooks(app, inbox)
      app.post('/in/:who', inbox.router)
      app.use('/api', express.Router().post('/in', inbox.router))
      app.post('/in', (request, response, next) => inbox.router(request, response, next))
    })
    for (const path of ['/webhooks', '/in/sender?x=1', '/api/in', '/in'])
      expect(await stage.post(path, eventBytes({ id: path }))).toMatchObject(accepted(path))
  })

  test('answers 503 before the start and after the stop', async () => {
    const inbox = createInbox(defaults)
    expect(inbox.health()).toEqual({ ok: false, reason: 'the inbox is not started' })
    await using stage = await serve(inbox, (app) => void app.post('/in', (a, b) => inbox.router(a, b)))
    const answer = await stage.post('/in', eventBytes({ id: 'a' }))
    expect(answer).toMatchObject(refusal('store_unavailable'))
    expect(answer.headers.get('retry-after')).toBe('5')
    await inbox.start()
    expect(inbox.health()).toEqual({ ok: true })
    expect(await stage.post('/in', eventBytes({ id: 'a' }))).toMatchObject(accepted('a'))
    await inbox.stop()
    expect(await stage.post('/in', eventBytes({ id: 'b' }))).toMatchObject(refusal('shutting_down'))
    await inbox.stop()
    await expect(inbox.start()).rejects.toMatchObject({ code: 'shutting_down' })
  })
})

describe('a body parser before the router', () => {
  const json = { 'Content-Type': 'application/json' }

  test('is explained in the response and in the log', async () => {
    const { log, lines } = recordingLog()
    await using stage = await mounted({ log }, (app, inbox) => {
      app.use(express.json())
      app.use('/webhooks', inbox.router)
    })
    const refused: unknown[] = []
    stage.inbox.events.on('refused', (report) => refused.push(report))
    expect(await stage.post('/webhooks', eventBytes({ id: 'a' }), json)).toMatchObject({
      status: 500,
      body: {
        error: { code: 'body_already_read', message: expect.stringContaining('mount the router of the inbox before') },
      },
    })
    expect(lines).toMatchObject([
      {
        level: 'error',
        message: expect.stringContaining("app.use('/webhooks', inbox.router) before app.use(express.json())") as string,
      },
    ])
    await until(() => refused.length > 0, 'the event')
    expect(refused).toEqual([{ code: 'body_already_read' }])
  })

  test.each([
    [
      'keeps the bytes as rawBody',
      express.json({ verify: (request, _response, raw) => Object.assign(request, { rawBody: raw }) }),
    ],
    ['gives the bytes as body', express.raw({ type: '*/*' })],
    ['leaves other types alone', express.urlencoded()],
  ])('is harmless if it %s', async (_name, parser) => {
    await using stage = await mounted({ bodyLimit: 300 }, (app, inbox) => {
      app.use(parser)
      app.use('/webhooks', inbox.router)
    })
    // White space: serialized again, the signature would not match.
    const body = Buffer.concat([eventBytes({ id: 'a' }), Buffer.from('  \n')])
    expect(await stage.post('/webhooks', body, json)).toMatchObject(accepted('a'))
    expect(await stage.post('/webhooks', eventBytes({ id: 'b', data: { pad: 'x'.repeat(300) } }), json)).toMatchObject({
      status: 413,
    })
  })
})

describe('options', () => {
  test('are checked together: one error lists all invalid ones, without the secret', () => {
    const handler = defineHandler({ name: 'h', type: '*', run() {} })
    const options = {
      secrets: 'too short',
      database: 'mysql:x',
      concurrency: 0,
      bodyLimit: '1tb',
      colour: 'red',
      handlers: [handler, handler, { type: '*', run() {} }, 7, { name: 'i', type: '*' }],
    }
    const problems = [
      /^secrets must be secrets of at least 16 characters(?!.*too short)/,
      /^database must be sqlite:<path of a file>, postgres:.* or memory: \(/,
      /^concurrency must be a whole number from 1 to 10000 \(got 0\)$/,
      /^bodyLimit must be a size .* \(got "1tb"\)$/,
      /^handlers\[1\]: handlers\[0\] has the same name h; give one of them another `name`$/,
      /^handlers\[2\]: expected a `name`/,
      /^handlers\[3\]: expected a result of defineHandler or defineSink$/,
      /^handlers\[4\] is not a usable handler: run: expected a function$/,
      /^colour: unknown option, known are secrets,/,
    ]
    expect(() => createInbox(options as unknown as EmbeddedInboxOptions)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        details: { problems: problems.map((pattern) => expect.stringMatching(pattern) as string) },
      }),
    )
    expect(() => createInbox({ handlers: [] })).toThrow(/secrets: neither secrets nor secretsFile is set/)
    expect(() => createInbox({ ...defaults, secrets: 'demo-secret-do-not-use-0001' })).toThrow(
      /published with the demo/,
    )
  })

  test('a failed start closes everything and can be repeated', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    const other = await createSqliteInbox({ file })
    await using inbox = createInbox({ ...defaults, database: `sqlite:${file}` })
    await expect(inbox.start()).rejects.toMatchObject({ code: 'database_in_use' })
    await other.close()
    await inbox.start()
  })
})

describe('runs', () => {
  test('a stop releases the run of a stuck handler uncharged, and rejects with its name', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    const { log, lines } = recordingLog()
    const started = Promise.withResolvers<void>()
    const handler = defineHandler({
      name: 'h',
      type: '*',
      run() {
        started.resolve()
        return new Promise(() => {})
      },
    })
    const options = { ...defaults, database: `sqlite:${file}`, handlers: [handler], shutdownMs: 1, log }
    const embedded = createInbox(options)
    await embedded.start()
    const { headers = {}, body } = delivery(eventBytes({ id: 'a' }))
    await embedded.receive({ headers, body })
    await started.promise
    await expect(embedded.stop()).rejects.toMatchObject({ code: 'handler_stuck', details: { handlers: ['h'] } })
    expect(lines).toMatchObject([{ level: 'warn', message: 'handler ignores ctx.signal' }])
    const inbox = await createSqliteInbox({ file })
    expect((await inbox.event('a'))?.runs).toMatchObject([{ state: 'ready', crashed: 0, attempts: [] }])
    await inbox.close()
  })
})

describe('events', () => {
  test('are emitted in order after the commit, even if listeners throw', async () => {
    const commit = Promise.withResolvers<void>()
    const { log, lines } = recordingLog()
    const run = (event: { readonly id: string }) => {
      if (event.id === 'b') throw new TypeError('no')
    }
    const handlers = [defineHandler({ name: 'h', type: '*', run, retry: { attempts: 1 } })]
    const memory = await createMemoryInbox({ clock: systemClock })
    const accept: Inbox['accept'] = (batch) => commit.promise.then(() => memory.accept(batch))
    const open = async () => ({ inbox: { ...memory, accept } })
    const inbox = embedInbox(parseOptions({ ...defaults, handlers, log }), open)
    await inbox.start()
    await using stage = await serve(inbox, atWebhooks)
    const reported: string[] = []
    for (const name of ['accepted', 'duplicate', 'conflict', 'handled', 'dead', 'retried'] as const) {
      inbox.events.on(name, () => {
        throw new Error('a bad listener')
      })
      const rejects: () => unknown = () => Promise.reject(new Error('a bad async listener'))
      inbox.events.on(name, rejects)
      inbox.events.on(name, ({ eventId }) => reported.push(`${name} ${eventId}`))
    }
    inbox.events.on('quarantined', ({ reason }) => reported.push(reason))
    inbox.events.on('rejected', ({ reason }) => reported.push(reason))
    const first = stage.post('/webhooks', eventBytes({ id: 'a' }))
    // A rejected request needs no store; when it is answered, the first one has arrived, too.
    await stage.post('/webhooks', eventBytes({ id: 'a' }), { 'X-Service-Signature': '0'.repeat(64) })
    await until(() => reported.length > 0, 'the event')
    expect(reported).toEqual(['mismatch'])
    commit.resolve()
    await first
    await stage.post('/webhooks', eventBytes({ id: 'a' }))
    await stage.post('/webhooks', eventBytes({ id: 'a', data: {} }))
    await stage.post('/webhooks', Buffer.from('{'))
    await stage.post('/webhooks', eventBytes({ id: 'b' }))
    await until(() => reported.length >= 8, 'all events')
    const names = [
      'accepted a',
      'accepted b',
      'conflict a',
      'dead b',
      'duplicate a',
      'handled a',
      'mismatch',
      'not_json',
    ]
    expect(reported.toSorted()).toEqual(names)
    expect(reported.indexOf('accepted a')).toBeLessThan(reported.indexOf('handled a'))
    expect(reported.indexOf('accepted b')).toBeLessThan(reported.indexOf('dead b'))
    expect(lines.filter(({ message }) => message === 'event listener failed')).toHaveLength(12)
  })

  test('a failed store emits `failed` and gives 503, and the process continues', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    let kill = async (): Promise<void> => {}
    const started = Promise.withResolvers<AbortSignal>()
    const handler = defineHandler({
      name: 'h',
      type: '*',
      async run(_event, ctx) {
        started.resolve(ctx.signal)
        await once(ctx.signal, 'abort')
      },
    })
    const open = async () => {
      const inbox = await createSqliteInbox({ file })
      kill = async () => {
        const port = await inbox.openDispatchChannel()
        // An invalid message makes the writer thread throw.
        port.postMessage(0)
      }
      return { inbox }
    }
    const inbox = embedInbox(parseOptions({ ...defaults, handlers: [handler] }), open)
    await inbox.start()
    await using stage = await serve(inbox, (app) => {
      app.use('/webhooks', inbox.router)
      app.get('/alive', (_request, response) => void response.json('yes'))
    })
    expect(await stage.post('/webhooks', eventBytes({ id: 'a' }))).toMatchObject(accepted('a'))
    const signal = await started.promise
    const failed = once(inbox.events, 'failed')
    await kill()
    expect(await failed).toMatchObject([{ error: { code: 'store_unavailable' } }])
    expect(await stage.post('/webhooks', eventBytes({ id: 'b' }))).toMatchObject(refusal('store_unavailable'))
    expect(inbox.health()).toMatchObject({ ok: false })
    await until(() => signal.aborted, 'the abort of the handler')
    expect(await (await fetch(`${stage.url}/alive`)).json()).toBe('yes')

    // A new inbox continues with the same file.
    await inbox.stop()
    const handled: string[] = []
    await using next = createInbox({
      ...defaults,
      database: `sqlite:${file}`,
      handlers: [defineHandler({ name: 'h', type: '*', run: (event) => void handled.push(event.id) })],
    })
    await next.start()
    await until(() => handled.length > 0, 'the run')
    expect(handled).toEqual(['a'])
  })
})
