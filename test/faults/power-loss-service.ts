import { createSecretKey } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/base/clock.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { createLogger, silentLogger } from '../../src/base/log.ts'
import { createReceiving } from '../../src/receiver/receive.ts'
import { createReceiverApp } from '../../src/receiver/server.ts'
import { testSecret } from '../support/app.ts'

/** The receiver of `serve`, over a store with the durability in SYNCHRONOUS. `serve` itself can't run with `normal`. */
const env = (name: string) => process.env[name] ?? ''
const synchronous = env('SYNCHRONOUS') === 'normal' ? 'normal' : 'full'
const inbox = await createSqliteInbox({ file: env('INBOX_DATABASE_URL').replace('sqlite:', ''), synchronous })

const observer = { stored() {}, rejected() {}, refused() {}, committed() {}, acknowledged() {}, signed() {} }
const settings = {
  signatureHeader: 'x-service-signature',
  storedHeaders: [],
  bodyLimitBytes: 1_000_000,
  ackTimeoutMs: 4_000,
  unusableStatus: 200,
}
const receiving = createReceiving(settings, {
  accept: (batch) => inbox.accept(batch),
  secrets: () => [{ label: 'main', key: createSecretKey(Buffer.from(testSecret)) }],
  clock: systemClock,
  log: silentLogger,
  observerOf: () => observer,
  logReject() {},
  state: { stopping: false, health: () => inbox.health() },
})
const app = createReceiverApp({ ...receiving, path: '/webhooks' })
const server = http.createServer(app).listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/webhooks`
  createLogger({ level: 'info', pretty: false }).info({ url, synchronous: inbox.integrity.synchronous }, 'listening')
})
