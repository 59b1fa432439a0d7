import { createHash } from 'node:crypto'
import { networkIds, eventTypes } from '../../schema/index.ts'
import { eventExamples } from '../../schema/events.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import type { NewEvent } from '../../src/inbox/port.ts'
import { keyOf } from '../../src/receiver/envelope.ts'

/** `alike`: all events have one type and network. `varied`: all types, as the service sends them; a few have an undocumented field. */
export type Bodies = 'alike' | 'varied'

const batchSize = 1_000

/** Fills a new store through its own code, without fsync. `open` leaves every run pending. */
export async function fillStore(
  file: string,
  count: number,
  options: { readonly runs: 'done' | 'open'; readonly bodies?: Bodies },
): Promise<void> {
  const opened = await openFileStore(file, { clock: systemClock })
  const { store, db } = opened
  db.pragma('synchronous = OFF')
  store.transact([], () => store.register([{ name: 'filled', types: ['*'], order: 'key' }]))
  for (let from = 0; from < count; from += batchSize) {
    const batch = Array.from({ length: Math.min(batchSize, count - from) }, (_, index) =>
      makeEvent(from + index, count, options.bodies),
    )
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

export function makeEvent(index: number, count: number, bodies: Bodies = 'alike'): NewEvent {
  if (bodies === 'varied') return makeVariedEvent(index, startedAt - (count - index) * spacingMs)
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

/** Events are one second apart; the newest has the present time. */
const startedAt = Date.now()
const spacingMs = 1_000
const addresses = 20_000
const unlikeOneIn = 5_000

/** A few addresses are frequent, most are rare. */
export function addressOf(index: number): string {
  const skewed = Math.floor((addresses * (index % 997) ** 3) / 997 ** 3) + Math.floor(index / 997)
  return `0x${digest(`address ${skewed % addresses}`).slice(0, 40)}`
}

export function makeVariedEvent(index: number, receivedAt: number): NewEvent {
  const type = eventTypes[index % eventTypes.length] ?? ''
  const network = networkIds[Math.floor(index / 3) % networkIds.length] ?? ''
  const id = `evt_${digest(`event ${index}`).slice(0, 26)}`
  const address = addressOf(index)
  const createdAt = new Date(receivedAt - 400).toISOString()
  const { data: example } = eventExamples[type] as { readonly data: object }
  const data: Record<string, unknown> = {
    ...example,
    network,
    token_address: address,
    wallet_address: address,
    contract_address: address,
    tx_hash: `0x${digest(`tx ${index}`)}`,
    amount_usd: Math.round(index * 7.919) / 100,
    note: `${words[index % words.length]} ${words[Math.floor(index / 7) % words.length]} ${words[Math.floor(index / 91) % words.length]}`,
    ...(index % unlikeOneIn === 0 && { [`field_${index % 40}`]: index }),
  }
  return {
    kind: 'event',
    id,
    type,
    createdAt,
    ...keyOf({ id, type, data }),
    raw: Buffer.from(JSON.stringify({ id, type, created_at: createdAt, data })),
    receivedAt,
    secretLabel: index % 3 === 0 ? 'old' : 'new',
  }
}

const words = 'whale swap bridge mint burn stake vault pool curve oracle ledger yield margin'.split(' ')

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
