import { fork } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '../../src/base/clock.ts'
import { renderTable } from '../../src/cli/table.ts'
import { createDeliveries } from '../../src/emulator/deliveries/deliveries.ts'
import { createDeliveryStore } from '../../src/emulator/deliveries/store.ts'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { createPoster } from '../../src/emulator/deliveries/post.ts'
import { silentLogger } from '../../src/base/log.ts'

const endpoint = { id: 'wh_bench', secret: 'a secret of the bench' }

function bodyOf(n: number): Buffer {
  const id = `evt_${String(n).padStart(26, '0')}`
  const data = {
    wallet_address: `0x${'a'.repeat(40)}`,
    network: 'base',
    trade_type: 'buy',
    token_address: `0x${'b'.repeat(40)}`,
  }
  return Buffer.from(
    JSON.stringify({
      id,
      type: 'wallet.large_trade',
      created_at: '2026-01-01T00:00:00.000Z',
      data: { ...data, token_symbol: 'TOKEN', amount_usd: 12_345.67, tx_hash: `0x${'c'.repeat(64)}` },
    }),
  )
}

/** Posts with the same HTTP client alone: no signatures, no storage. */
async function postAll(url: string, count: number, parallel: number): Promise<number> {
  const poster = createPoster({ clock: systemClock, wall: systemClock })
  const target = new URL(url)
  let next = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (next < count)
        await poster.post({ url: target, body: bodyOf(next++), headers: { 'Content-Type': 'application/json' } })
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  poster.close()
  return count / seconds
}

/** Posts through the delivery engine: signed, with fault rules, every attempt stored. */
async function sendAll(url: string, count: number, parallel: number): Promise<number> {
  const deliveries = createDeliveries({
    clock: systemClock,
    wall: systemClock,
    store: createDeliveryStore(),
    faults: createFaults({ seed: 'bench' }),
    parallel,
    find: () => ({ ...endpoint, url }),
    log: silentLogger,
  })
  const startedAt = performance.now()
  for (let n = 0; n < count; n++) {
    const body = bodyOf(n)
    deliveries.send({ id: `evt_${String(n).padStart(26, '0')}`, type: 'wallet.large_trade', body }, [
      { ...endpoint, url },
    ])
    if (n % 500 === 499) await new Promise((resolve) => setImmediate(resolve))
  }
  await deliveries.settled()
  deliveries.close()
  return count / ((performance.now() - startedAt) / 1000)
}

/** Deliveries per second. */
type Sending = Awaited<ReturnType<typeof measureSending>>

export function renderSending(rows: readonly Sending[]): string {
  return renderTable(
    ['at once', 'stored/s', 'client alone/s', 'ratio'],
    rows.map(({ parallel, stored, ceiling, ratio }) => [
      String(parallel),
      stored.toFixed(0),
      ceiling.toFixed(0),
      ratio.toFixed(2),
    ]),
  )
}

/** Measures deliveries per second to a server in another process that answers at once, and posts of the bare client. */
export async function measureSending(count: number, parallel: number) {
  const receiver = fork(new URL('./hook-server.ts', import.meta.url))
  try {
    const [{ port }] = (await once(receiver, 'message')) as [{ port: number }]
    const url = `http://127.0.0.1:${port}/hook`
    await postAll(url, 2_000, parallel)
    const client = await postAll(url, count, parallel)
    const stored = await sendAll(url, count, parallel)
    const again = await postAll(url, count, parallel)
    const ceiling = Math.max(client, again)
    return { parallel, ceiling, stored, ratio: stored / ceiling }
  } finally {
    receiver.kill('SIGTERM')
  }
}
