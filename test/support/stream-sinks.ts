import { createServer } from 'node:net'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { toHandlerEvent } from '../../src/dispatch/context.ts'
import type { SinkItem } from '../../src/dispatch/define-sink.ts'

/** An item for a sink: the event itself, unless a payload is given. */
export function streamItem(n: number, changes: Partial<SinkItem> = {}): SinkItem {
  const id = `evt_${n}`
  const raw = Buffer.from(JSON.stringify(createEvent('wallet.large_trade', { id, data: { network: 'base' } })))
  const event = toHandlerEvent({
    seq: n,
    id,
    type: 'wallet.large_trade',
    createdAt: '2026-01-31T00:00:00Z',
    receivedAt: 0,
    key: 'base:0xabc',
    secretLabel: 'main',
    raw,
  })
  return {
    id: String(n),
    key: 'base:0xabc',
    payload: undefined,
    event,
    secretLabel: 'main',
    attempt: 1,
    idempotencyKey: `out:${id}`,
    traceparent: null,
    ...changes,
  }
}

/** A port that was free a moment ago, for servers that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
