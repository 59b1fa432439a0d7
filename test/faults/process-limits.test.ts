import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { eventDelivery, isAcknowledged, RecordingClient } from '../support/history.ts'
import { effectsHandler } from '../support/ledger.ts'
import { RawConnection, requestBytes } from '../support/raw-http.ts'
import { serveCommand, Sidecar } from '../support/sidecar.ts'
import { until } from '../support/until.ts'
import { examine as examineAll } from './power-loss-check.ts'

const handlers = { 'effects.mjs': effectsHandler() }

/** `serve` under limits that a shell sets. */
function under(limits: string): readonly string[] {
  return ['sh', '-c', `${limits}; exec "$@"`, 'sh', ...serveCommand]
}

const anEvent = (id: string, bytes = 0) => eventDelivery({ id, data: { note: 'x'.repeat(bytes) } })

/** At the limit an outcome may not be stored, so an attempt may repeat without a crash. */
const examine = async (sidecar: Sidecar, client: RecordingClient) =>
  (await examineAll(sidecar, client)).filter(({ what }) => !what.includes('was handled again'))

test('without file descriptors, serve closes new connections, keeps existing ones, and recovers', async () => {
  await using sidecar = await Sidecar.start({ command: under('ulimit -n 80'), handlers })
  const { port } = new URL(sidecar.url)
  using client = new RecordingClient({ url: () => sidecar.url, connections: 1 })
  expect(await client.deliver(anEvent('before'))).toMatchObject({ answer: 200 })
  await sidecar.drained()

  let closed = 0
  const sockets = Array.from({ length: 200 }, () => connect(Number(port), '127.0.0.1'))
  try {
    for (const socket of sockets) socket.on('error', () => {}).on('close', () => closed++)
    await until(() => closed > 100, 'no file descriptor is left')
    expect(await client.deliver(anEvent('meanwhile'))).toMatchObject({ answer: 200 })
  } finally {
    for (const socket of sockets) socket.destroy()
  }

  using newcomer = new RecordingClient({ url: () => sidecar.url, connections: 1 })
  await until(async () => isAcknowledged(await newcomer.deliver(anEvent('after'))), 'a new connection is taken')
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  client.requests.push(...newcomer.requests)
  expect(await examine(sidecar, client)).toEqual([])
})

test('at the file size limit, serve answers 503, stops cleanly, and loses nothing', async () => {
  const command = under('ulimit -f "$FILE_LIMIT"')
  await using sidecar = await Sidecar.create({ command, handlers, env: { FILE_LIMIT: 'unlimited' } })
  await sidecar.start({ FILE_LIMIT: '4096' })
  using client = new RecordingClient({ url: () => sidecar.url })
  let sent = 0
  await until(async () => (await client.deliver(anEvent(`large_${++sent}`, 100_000))).answer === 503, 'a refusal')
  const health = (path: string) => fetch(new URL(path, sidecar.url)).then(({ status }) => status)
  expect(await health('/readyz')).toBe(503)
  expect(await health('/healthz')).toBe(200)
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })

  await sidecar.start()
  for (const { delivery } of client.requests.filter((request) => !isAcknowledged(request))) {
    expect(await client.deliver(delivery)).toMatchObject({ answer: 200 })
  }
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  expect(await examine(sidecar, client)).toEqual([])
})

test(`P6 with a small heap, ${counts.largeBodies} bodies of 1 MB on 128 connections, and unsigned ones in chunks of one byte, are answered in bounded memory`, async () => {
  const [node = '', ...serve] = serveCommand
  await using sidecar = await Sidecar.start({ command: [node, '--max-old-space-size=128', ...serve], handlers })
  using client = new RecordingClient({ url: () => sidecar.url, connections: 128, timeoutMs: 60_000 })
  let sent = 0
  const send = async () => {
    while (sent < counts.largeBodies) await client.deliver(anEvent(`large_${++sent}`, 1_000_000))
  }
  await Promise.all(Array.from({ length: 128 }, send))
  const answers = client.requests.map(({ answer }) => answer)
  expect(answers).toContain(200)
  // A 503 before the body was sent can reach the client as a reset.
  expect(answers.filter((answer) => answer !== 200 && answer !== 503 && answer !== 'reset')).toEqual([])

  const port = Number(new URL(sidecar.url).port)
  const flood = Buffer.from('1\r\nx\r\n'.repeat(50_000))
  const attack = async () => {
    using connection = await RawConnection.open(port)
    connection.send(requestBytes({ headers: { 'Transfer-Encoding': 'chunked' } }))
    for (let part = 0; part < 20; part++) connection.send(flood)
    return (await connection.answer()).status
  }
  const statuses = await Promise.all(Array.from({ length: 6 }, attack))
  // A busy machine may answer 503 before the limit is reached.
  expect(statuses.filter((status) => status !== 400 && status !== 503)).toEqual([])
  expect(await peakMemoryMb(sidecar.pid)).toBeLessThan(1_000)

  await until(async () => isAcknowledged(await client.deliver(anEvent('afterwards'))), 'the overload is over')
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  expect((await examine(sidecar, client)).filter(({ property }) => property !== 'P6')).toEqual([])
})

async function peakMemoryMb(pid: number): Promise<number> {
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}
