import type { HandlerStats, InboxStats } from '../../src/inbox/port.ts'

/** Stats of a handler without runs. */
export function handlerStats(handler: string, changes: Partial<HandlerStats> = {}): HandlerStats {
  const runs = { waiting: 0, ready: 0, suspect: 0, running: 0, held: 0, dead: 0, superseded: 0 }
  return { handler, paused: false, concurrency: null, oldestOpenAt: null, backfillSeq: null, ...runs, ...changes }
}

/** Stats of an empty inbox. */
export function inboxStats(changes: Partial<InboxStats> = {}): InboxStats {
  const counts = { lastSeq: 0, quarantined: 0, conflicts: 0, missingSeqs: 0, sizeBytes: 4096 }
  return { paused: false, handlers: [], oldestOpenAt: null, ...counts, ...changes }
}
