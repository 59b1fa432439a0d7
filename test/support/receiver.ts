import { systemClock } from '../../src/base/clock.ts'
import { startHttpServer, type HttpServer } from '../../src/base/http/server.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { AcceptPort, Inbox } from '../../src/inbox/port.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { GroupCommit } from '../../src/receiver/group-commit.ts'
import { createReceiving, type ReceiverObserver } from '../../src/receiver/receive.ts'
import { createReceiverApp } from '../../src/receiver/server.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { testSecret } from './app.ts'

export interface TestReceiverOptions {
  /** Wraps the inbox of the receiver. */
  readonly accept?: (inbox: Inbox) => AcceptPort['accept']
  readonly ackTimeoutMs?: number
  readonly maxConnections?: number
}

export interface TestReceiver extends AsyncDisposable {
  readonly inbox: Inbox
  readonly port: number
  readonly pending: GroupCommit['pending']
  /** To be turned by the test. */
  readonly state: { stopping: boolean }
}

const nothing: ReceiverObserver = {
  stored() {},
  rejected() {},
  refused() {},
  committed() {},
  acknowledged() {},
  signed() {},
}

/** The receiver alone, wired as in `startApp`, with a store in memory that a test can hold back or break. */
export async function startTestReceiver(options: TestReceiverOptions = {}): Promise<TestReceiver> {
  const clock = systemClock
  const inbox = await createMemoryInbox({ clock })
  const secrets = parseSecrets(testSecret)
  const state = { stopping: false, health: () => inbox.health() }
  const settings = {
    signatureHeader: 'x-service-signature',
    storedHeaders: ['content-type', 'host', 'user-agent', 'via'],
    bodyLimitBytes: 1024 * 1024,
    ackTimeoutMs: options.ackTimeoutMs ?? 4_000,
    unusableStatus: 200,
  }
  const { commits, ...receiving } = createReceiving(settings, {
    accept: options.accept?.(inbox) ?? ((batch) => inbox.accept(batch)),
    secrets: () => secrets,
    clock,
    log: silentLogger,
    observerOf: () => nothing,
    logReject() {},
    state,
  })
  const server: HttpServer = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    portSetting: 'INBOX_PORT',
    maxConnections: options.maxConnections ?? 1000,
    keepAliveMs: 15_000,
    handler: createReceiverApp({ ...receiving, path: '/webhooks' }),
  })
  return {
    inbox,
    port: server.port,
    pending: commits.pending,
    state,
    async [Symbol.asyncDispose]() {
      await server.close(0)
      receiving.pressure.close()
      await inbox.close()
    },
  }
}

/** An accept that waits for `open()`, and can be shut again. */
export function createGate(inbox: Pick<AcceptPort, 'accept'>) {
  let gate = Promise.withResolvers<void>()
  const arrived = { batches: 0 }
  const accept: AcceptPort['accept'] = async (batch) => {
    arrived.batches++
    await gate.promise
    return inbox.accept(batch)
  }
  return {
    accept,
    arrived,
    open: () => gate.resolve(),
    shut: () => void (gate = Promise.withResolvers()),
  }
}
