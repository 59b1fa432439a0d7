import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fail, ok, warn, type Finding } from './finding.ts'

export interface SyncSpeed {
  readonly writes: number
  readonly medianMs: number
  readonly worstMs: number
}

const writes = 20
/** A page of the database. */
const writeBytes = 4_096
/** No disk is as quick; a memory, or a layer that only says so, is. */
const incredibleMs = 0.005
const slowMs = 50

/** How long this disk takes to make a small write durable: 20 of them, one after the other, in a file that is removed again. */
export function measureSync(folder: string): SyncSpeed {
  const path = join(folder, `.onchain-inbox-${randomBytes(6).toString('hex')}`)
  const file = openSync(path, 'wx', 0o600)
  try {
    const bytes = randomBytes(writeBytes)
    const times = Array.from({ length: writes }, () => {
      const startedAt = performance.now()
      writeSync(file, bytes)
      fsyncSync(file)
      return performance.now() - startedAt
    }).toSorted((a, b) => a - b)
    return { writes, medianMs: times[writes / 2] ?? 0, worstMs: times.at(-1) ?? 0 }
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}

/** What that means for the time to an acknowledgement, which waits for one such write, or for two. */
export function judgeSync({ medianMs, worstMs, writes: count }: SyncSpeed, ackTimeoutMs: number): Finding {
  const found = `a durable write takes ${roughMs(medianMs)}, at worst ${roughMs(worstMs)} (${count} measured)`
  if (worstMs >= ackTimeoutMs) {
    return fail(
      'disk speed',
      `${found}: as long as a delivery may take (INBOX_ACK_TIMEOUT_MS=${ackTimeoutMs}), so some will be answered 503`,
      'use another disk, or find out what else writes to this one (iostat -x 1)',
    )
  }
  const expected = `expect acknowledgements after about ${roughMs(2 * medianMs)}, and ${roughMs(2 * worstMs)} at times`
  if (medianMs > slowMs || worstMs > ackTimeoutMs / 4) {
    return warn(
      'disk speed',
      `${found}: ${expected}`,
      'use a local SSD, or find out what else writes to this disk (iostat -x 1)',
    )
  }
  if (medianMs < incredibleMs) {
    return warn(
      'disk speed',
      `${found}: no disk is as quick`,
      'make sure that fsync is not turned off here, and that this is a disk',
    )
  }
  return ok('disk speed', `${found}: ${expected}`)
}

/** With two digits that count, or in whole milliseconds. */
function roughMs(ms: number): string {
  return `${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`
}
