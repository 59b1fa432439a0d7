import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { AppServer, type AppRequest } from '../support/app-server.ts'
import { deliver, eventBytes } from '../support/signed.ts'
import { startSocketServer } from '../support/socket-server.ts'
import { until } from '../support/until.ts'

const opened = new AsyncDisposableStack()
const servers = new Map<string, AppServer>()
let app: TestApp

/** Short delays. */
const soon = { attempts: 200, baseMs: 20, capMs: 100 }

/** One app for all tests. Each sink gets the event type of its name. */
beforeAll(async () => {
  const resetting = opened.use(
    await startSocketServer((socket, index) => {
      const answers = ['what?\r\n\r\n', 'HTTP/1.1 20', 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n']
      socket.once('data', () => (index === 0 ? socket.resetAndDestroy() : socket.end(answers[index - 1] ?? '')))
    }),
  )
  const closed = await startSocketServer()
  await closed[Symbol.asyncDispose]()
  const unending = opened.use(
    await startSocketServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it'))
    }),
  )
  for (const name of ['slow', 'refusing', 'huge', 'echoing']) {
    servers.set(name, opened.use(await AppServer.start()))
  }
  const options: Readonly<Record<string, object>> = {
    resetting: { url: resetting.url },
    closed: { url: `${closed.url}?token=hush`, headers: { Authorization: 'hush' }, retry: { ...soon, attempts: 2 } },
    unending: { url: unending.url, timeoutMs: 20_000 },
    echoing: {
      url: serverOf('echoing').url,
      headers: { Authorization: 'Bearer the-token-of-the-app' },
      retry: { ...soon, attempts: 1 },
    },
    huge: { url: serverOf('huge').url },
    slow: { url: serverOf('slow').url, timeoutMs: 300 },
    refusing: { url: serverOf('refusing').url, terminalStatuses: [410, 422] },
  }
  const sinks = Object.entries(options).map(([name, specific]) => {
    return [name, { kind: 'forward', types: `wallet.${name}`, retry: soon, ...specific }]
  })
  app = opened.use(await startTestApp({ settings: { INBOX_SINKS: JSON.stringify(Object.fromEntries(sinks)) } }))
})
afterAll(() => opened.disposeAsync())

function serverOf(sink: string): AppServer {
  const server = servers.get(sink)
  if (server === undefined) throw new Error(`${sink} has no server`)
  return server
}

async function send(sink: string, id: string, wallet = id): Promise<void> {
  const raw = eventBytes({ id, type: `wallet.${sink}`, data: { network: 'solana', wallet_address: wallet } })
  await deliver(app, raw)
}

async function runOf(id: string) {
  const [run] = (await app.inbox.event(id))?.runs ?? []
  if (run === undefined) throw new Error(`there is no run of ${id}`)
  return run
}

const becomes = (id: string, state: string) =>
  until(async () => (await runOf(id)).state === state, `the forward of ${id} is ${state}`)

async function errorsOf(id: string): Promise<(string | undefined)[]> {
  return (await runOf(id)).attempts.map(({ error }) => error?.message)
}

const idOf = ({ body }: AppRequest) => (JSON.parse(body.toString()) as { id: string }).id

describe('a forward to a failing app', () => {
  test('retries after a reset, an invalid response and a truncated status line', async () => {
    await send('resetting', 'reset_1')
    await becomes('reset_1', 'done')
    const errors = await errorsOf('reset_1')
    expect(errors).toHaveLength(4)
    expect(errors.slice(0, 3)).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('the app could not be reached: ')),
    )
  })

  test('accepts a 2xx whose body never ends, before timeoutMs', async () => {
    await send('unending', 'unending_1')
    await becomes('unending_1', 'done')
    expect((await runOf('unending_1')).attempts).toHaveLength(1)
  })

  test('retries after timeoutMs', async () => {
    const server = serverOf('slow')
    server.answer = () => (server.requests.length === 1 ? null : { status: 200 })
    await send('slow', 'slow_1')
    await becomes('slow_1', 'done')
    expect(await errorsOf('slow_1')).toEqual([expect.stringContaining('took longer than 300 ms'), undefined])
  })

  test('makes a dead letter for terminalStatuses, and continues the key', async () => {
    serverOf('refusing').answer = (request) =>
      idOf(request) === 'a1' ? { status: 422, body: 'no such type' } : { status: 200 }
    await send('refusing', 'a1', 'A')
    await send('refusing', 'a2', 'A')
    await becomes('a2', 'done')
    await becomes('a1', 'dead')
    expect(await errorsOf('a1')).toEqual(['the app answered 422: no such type'])
  })

  test('stops reading a huge response, and keeps only its beginning', async () => {
    const server = serverOf('huge')
    server.answer = () => ({ status: server.requests.length === 1 ? 500 : 200, body: 'x'.repeat(5_000_000) })
    await send('huge', 'huge_1')
    await becomes('huge_1', 'done')
    expect(await errorsOf('huge_1')).toEqual([`the app answered 500: ${'x'.repeat(200)}`, undefined])
  })

  test('shows neither URL nor headers in errors', async () => {
    await send('closed', 'closed_1')
    await becomes('closed_1', 'dead')
    const errors = JSON.stringify((await runOf('closed_1')).attempts)
    expect(errors).not.toContain('hush')
    expect(errors).toContain('ECONNREFUSED')
  })

  test('removes signatures and tokens from an echoed answer', async () => {
    serverOf('echoing').answer = ({ headers }) => ({
      status: 401,
      body: `bad signature ${String(headers['x-service-signature'])}; ${String(headers.authorization)} the-token-of-the-app`,
    })
    await send('echoing', 'echo_1')
    await becomes('echo_1', 'dead')
    expect(await errorsOf('echo_1')).toEqual(['the app answered 401: bad signature [hidden]; [hidden] [hidden]'])
  })
})
