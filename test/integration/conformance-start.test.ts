import { readFile, readdir, writeFile } from 'node:fs/promises'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { conformance, parseLines, rulesOf } from './conformance-stage.ts'

test('R92 a receiver that answers later than the limit is no absent one: the run goes on to its end, and it fails', async () => {
  await using app = await AppServer.start()
  app.answer = async ({ method }) => {
    if (method === 'POST') await wait(800)
    return { status: method === 'POST' ? 200 : 405 }
  }
  const { code, out } = await conformance(
    '--url',
    app.url,
    '--only',
    'acceptance,methods',
    '--timeout',
    '0.5',
    '--json',
  )
  const { verdicts, summary } = parseLines(out)
  expect(code, out).toBe(1)
  expect(rulesOf(verdicts, 'failed')).toEqual(Array(10).fill('R92 acceptance'))
  expect(rulesOf(verdicts, 'passed')).toEqual(['R78 methods'])
  expect(verdicts[0]).toMatchObject({
    title: 'token.price_alert is acknowledged in time',
    detail: expect.stringContaining('came: no answer within 500 ms'),
  })
  expect(summary).toMatchObject({ outcome: 'failed', reason: null, notChecked: 0 })
})

test('R92 a receiver that always answers 503 was reached, and fails', async () => {
  await using app = await AppServer.start()
  app.answer = () => ({ status: 503 })
  const { code, out } = await conformance('--url', app.url, '--only', 'acceptance', '--timeout', '0.5', '--json')
  expect(code, out).toBe(1)
  expect(rulesOf(parseLines(out).verdicts, 'failed')).toEqual(Array(10).fill('R92 acceptance'))
})

test.each([
  ['closes each connection without an answer', 'http', true, 'the connection was cut without an answer'],
  ['takes connections and does not speak TLS', 'https', false, 'no connection within 500 ms'],
])('a receiver that %s could not be reached', async (_, protocol, isClosing, reason) => {
  await using server = await startTcpServer((socket) => {
    socket.on('data', () => isClosing && socket.resetAndDestroy())
  })
  const url = `${protocol}://127.0.0.1:${server.port}/webhooks`
  const { code, out } = await conformance('--url', url, '--only', 'acceptance', '--timeout', '0.5', '--json')
  expect(code, out).toBe(75)
  expect(parseLines(out)).toMatchObject({ verdicts: [], summary: { outcome: 'unreachable' } })
  expect(parseLines(out).summary.reason).toContain(`the receiver could not be reached: ${reason}`)
})

async function startTcpServer(onSocket: (socket: net.Socket) => void) {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test.each([
  ['exit 3', 'the command ended with 3; run it by hand to see what it prints'],
  ['echo \'{"event":1}\'', 'line 1 of what tells of effects is no effect'],
  ['http://127.0.0.1:9/effects', 'the connection was refused'],
  ['the app', 'a GET of the effects was answered 500, expected 200'],
])('--effects %j that cannot be read is refused before anything is sent', async (effects, reason) => {
  await using app = await AppServer.start()
  await using dir = await createTempDir()
  app.answer = ({ method }) => ({ status: method === 'GET' ? 500 : 200 })
  const source = effects === 'the app' ? app.url : effects
  const junit = join(dir.path, 'report.xml')
  const args = ['--url', app.url, '--only', 'repeated', '--settle', '1', '--effects', source, '--junit', junit]
  const { code, out, errors } = await conformance(...args)
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain(`usage: --effects cannot be read: ${reason}`)
  expect(app.requests.filter(({ method }) => method === 'POST')).toEqual([])
  expect(await readdir(dir.path)).toEqual([])
})

test('--effects is read once before the first event', async () => {
  await using app = await AppServer.start()
  app.answer = () => ({ status: 200 })
  const args = ['--url', app.url, '--only', 'methods', '--effects', app.url]
  await conformance(...args)
  expect(app.requests.slice(0, 2).map(({ method }) => method)).toEqual(['GET', 'POST'])
})

test('--junit that cannot be written is refused before anything is sent; an earlier report stays until there is a new one', async () => {
  await using app = await AppServer.start()
  await using dir = await createTempDir()
  const args = ['--url', app.url, '--only', 'repeated']
  for (const [file, reason] of [
    [join(dir.path, 'none', 'report.xml'), 'ENOENT'],
    [dir.path, 'EISDIR'],
  ] as const) {
    const { code, out, errors } = await conformance(...args, '--junit', file)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(errors).toMatch(new RegExp(`^usage: --junit: .* cannot be written \\(${reason}`))
  }
  expect(app.requests).toEqual([])

  const report = join(dir.path, 'report.xml')
  await writeFile(report, 'of the last run')
  expect(await conformance(...args, '--junit', report, '--effects', 'exit 3')).toMatchObject({ code: 1, out: '' })
  expect(await readFile(report, 'utf8')).toBe('of the last run')
  expect(await conformance(...args, '--junit', report)).toMatchObject({ code: 0 })
  expect(await readFile(report, 'utf8')).toMatch(/^<\?xml .*<\/testsuites>\n$/s)
})

test('--next-secret that is --secret is refused, and says why', async () => {
  await using app = await AppServer.start()
  const { code, out, errors } = await conformance('--url', app.url, '--next-secret', 'env:SECRET')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain('--next-secret is the same secret as --secret: a receiver that takes only one would pass')
  expect(errors).not.toContain(testSecret)
  expect(app.requests).toEqual([])
})

test('R75 only a receiver that refuses other secrets is told that one of its own is empty', async () => {
  await using app = await AppServer.start()
  const adviceOf = async () => {
    const { out } = await conformance('--url', app.url, '--only', 'forgery', '--json')
    const { verdicts } = parseLines(out)
    return verdicts.find(({ title }) => title.includes('an empty secret'))?.detail
  }
  expect(await adviceOf()).toContain('to do: it takes what is not signed with its secret')
  app.answer = ({ body, headers }) => {
    const isTaken = [testSecret, ''].some((secret) => headers['x-service-signature'] === sign(body, secret))
    return { status: isTaken ? 200 : 401 }
  }
  expect(await adviceOf()).toContain('to do: one of the secrets of the receiver is empty')
})

test('a run in which nothing at all was checked is no success, and says so', async () => {
  await using app = await AppServer.start()
  await using dir = await createTempDir()
  const junit = join(dir.path, 'report.xml')
  const args = ['--url', app.url, '--only', 'rotation', '--junit', junit]
  const { code, out } = await conformance(...args)
  expect(code, out).toBe(1)
  expect(out.trimEnd().split('\n').at(-1)).toMatch(
    /^0 passed, 0 failed, 2 not checked, in .* s: nothing was checked; give/,
  )
  expect(await readFile(junit, 'utf8')).toContain('<error message="nothing was checked; give')
})
