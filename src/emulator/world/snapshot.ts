import { createHash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import type { Core } from './core.ts'
import { fillDirectory } from './directory.ts'
import type { WorldSnapshot } from './port.ts'
import type { WorldState } from './state.ts'

export function takeSnapshot({ state, trades }: Core): WorldSnapshot {
  return { state: serialize(state), trades: trades.all.slice() }
}

export function restoreSnapshot(core: Core, { state, trades }: WorldSnapshot): void {
  core.state = deserialize(state) as WorldState
  core.trades.load(trades)
  fillDirectory(core)
}

/** Equal states have equal digests. Hex SHA-256. */
export function digestOf({ state, trades }: Core): string {
  const digest = createHash('sha256')
  for (const part of [state, ...trades.all])
    digest.update(JSON.stringify(part, (_key, value: unknown) => toPlain(value)))
  return digest.digest('hex')
}

function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  return value instanceof Set ? [...value] : value
}
