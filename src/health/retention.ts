import type { Clock, Timer } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'

export interface RetentionOptions {
  readonly inbox: Pick<Inbox, 'prune'>
  /** Bodies of finished events, and bodies in quarantine, are kept for so many days; 0: for ever. */
  readonly days: number
  /** Beyond this size of the database those of the oldest go earlier. */
  readonly maxBytes: number | undefined
  /** Whether it falls to this process, of those that share the inbox. Default: always. */
  readonly isLeader?: () => boolean
  readonly clock: Clock
  readonly log: Logger
}

const dayMs = 24 * 3_600_000
const everyMs = 60_000

/** Prunes now and then, as long as it is not closed. */
export function startRetention(options: RetentionOptions): { close(): void } {
  const { inbox, days, maxBytes, isLeader = () => true, clock, log } = options
  let timer: Timer | undefined
  let isClosed = false
  let wasTooLarge = false

  async function prune(): Promise<void> {
    if (isLeader()) await pruneOnce()
    if (!isClosed) timer = clock.after(everyMs, () => void prune())
  }

  async function pruneOnce(): Promise<void> {
    try {
      const receivedBefore = days === 0 ? null : clock.now() - days * dayMs
      const { events, quarantined, isTooLarge } = await inbox.prune({ receivedBefore, maxBytes: maxBytes ?? null })
      if (isTooLarge && !wasTooLarge) {
        log.warn({ maxBytes }, 'the database is larger than it is to be, and nothing is left that may be pruned')
      }
      wasTooLarge = isTooLarge
      if (events > 0) log.info({ events }, 'old events were pruned: their bodies are gone, their ids stay')
      if (quarantined > 0) log.info({ bodies: quarantined }, 'old bodies in quarantine were pruned')
    } catch (error) {
      if (!isClosed) log.warn({ error: messageOf(error) }, 'old events could not be pruned; trying again')
    }
  }

  if (days > 0 || maxBytes !== undefined) timer = clock.after(everyMs, () => void prune())
  return {
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}
