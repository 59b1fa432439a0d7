import { createServer } from 'node:net'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { anItem } from './sink-items.ts'

/** An item for a sink: the event itself, unless a payload is given. */
export function streamItem(n: number, changes: Parameters<typeof anItem>[1] = {}) {
  const event = createEvent('wallet.large_trade', { id: `evt_${n}`, data: { network: 'base' } })
  return anItem(Buffer.from(JSON.stringify(event)), { id: String(n), key: 'base:0xabc', ...changes })
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
