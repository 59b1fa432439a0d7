import { systemClock } from '../../src/base/clock.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import type { NewEvent } from '../../src/inbox/port.ts'

const batchSize = 1_000

/** Fills a new store through its own code, without fsync. `open` leaves every run pending. */
export async function fillStore(
  file: string,
  count: number,
  options: { readonly runs: 'done' | 'open' },
): Promise<void> {
  const opened = await openFileStore(file, { clock: systemClock })
  const { store, db } = opened
  db.pragma('synchronous = OFF')
  store.transact([], () => store.register([{ name: 'filled', types: ['*'], order: 'key' }]))
  for (let from = 0; from < count; from += batchSize) {
    const batch = Array.from({ length: Math.min(batchSize, count - from) }, (_, index) => makeEvent(from + index))
    const claim = { handlers: ['filled'], max: batchSize, owner: 'fill', suspects: false, leases: [], bytes: 0 }
    const claims = options.runs === 'done' ? [claim] : []
    store.transact(claims, () => store.accept(batch))
    const settled = claims.flatMap(({ leases }: { leases: readonly { runId: number; token: number }[] }) =>
      leases.map(({ runId, token }) => ({ kind: 'done' as const, runId, token, startedAt: 0, endedAt: 0 })),
    )
    if (settled.length > 0) store.transact([], () => store.settle(settled))
  }
  opened.close()
}

export function makeEvent(index: number): NewEvent {
  const id = `evt_0${String(index).padStart(25, '0')}`
  const address = `0x${index.toString(16).padStart(40, '0')}`
  const type = 'wallet.large_trade'
  const createdAt = '2026-01-01T00:00:00.000Z'
  const data = { wallet_address: address, network: 'ethereum', note: 'x'.repeat(300) }
  return {
    kind: 'event',
    id,
    type,
    createdAt,
    key: `ethereum:${address}`,
    network: 'ethereum',
    address,
    raw: Buffer.from(JSON.stringify({ id, type, created_at: createdAt, data })),
    receivedAt: 1_700_000_000_000 + index,
    secretLabel: 'fill',
  }
}
