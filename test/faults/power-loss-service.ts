import { createSecretKey } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/base/clock.ts'
import { readSynchronous } from '../../src/inbox/sqlite/connection.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { createLogger, silentLogger } from '../../src/base/log.ts'
import { createReceiving } from '../../src/receiver/receive.ts'
import { createReceiverApp } from '../../src/receiver/server.ts'
import { testSecret } from '../support/app.ts'

/** The receiver of `serve`, over a store that doesn't fsync its commits. `serve` itself can't run so. */
const file = (process.env['INBOX_DATABASE_URL'] ?? '').replace('sqlite:', '')
const opened = await openFileStore(file, { clock: systemClock })
opened.db.pragma('synchronous = NORMAL')
const inbox = createLocalSqliteInbox(opened, { clock: systemClock })

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
  createLogger({ level: 'info', pretty: false }).info({ url, synchronous: readSynchronous(opened.db) }, 'listening')
})
