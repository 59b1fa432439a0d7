import { dayMs, type Clock, type Timer } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'

export interface RetentionOptions {
  readonly inbox: Pick<Inbox, 'prune'>
  /** Bodies of finished events, and quarantined bodies, are kept for this many days; 0: no limit. */
  readonly days: number
  /** Above this database size the oldest bodies are pruned earlier. */
  readonly maxBytes: number | undefined
  /** True if this process prunes, when several share the inbox. Default: always. */
  readonly isLeader?: () => boolean
  readonly clock: Clock
  readonly log: Logger
}

const intervalMs = 60_000

/** Prunes once a minute until closed. */
export function startRetention(options: RetentionOptions): { close(): void } {
  const { inbox, days, maxBytes, isLeader = () => true, clock, log } = options
  let timer: Timer | undefined
  let isClosed = false
  let wasTooLarge = false

  async function prune(): Promise<void> {
    if (isLeader()) await pruneOnce()
    if (!isClosed) timer = clock.after(intervalMs, () => void prune())
  }

  async function pruneOnce(): Promise<void> {
    try {
      const receivedBefore = days === 0 ? null : clock.now() - days * dayMs
      const { events, quarantined, isTooLarge } = await inbox.prune({ receivedBefore, maxBytes: maxBytes ?? null })
      if (isTooLarge && !wasTooLarge) {
        log.warn({ maxBytes }, 'database above limit, nothing prunable')
      }
      wasTooLarge = isTooLarge
      if (events > 0) log.info({ events }, 'old events pruned')
      if (quarantined > 0) log.info({ bodies: quarantined }, 'old quarantine pruned')
    } catch (error) {
      if (!isClosed) log.warn({ error: messageOf(error) }, 'pruning failed, retrying')
    }
  }

  if (days > 0 || maxBytes !== undefined) timer = clock.after(intervalMs, () => void prune())
  return {
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}
