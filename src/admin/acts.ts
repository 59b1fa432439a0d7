import type { SubscriptionPort, ViewPort } from '../inbox/port.ts'
import { createDeadActs, type DeadActs } from './acts/dead.ts'
import { createHandlerActs, type HandlerActOptions, type HandlerActs } from './acts/handlers.ts'
import { createQuarantineActs, type QuarantineActs, type ReadEvent } from './acts/quarantine.ts'
import { createReplayActs, type ReplayActs } from './acts/replays.ts'
import { createUpkeepActs, type UpkeepActs } from './acts/upkeep.ts'

/** What an operator can do. Bodies come as they were sent, and are checked: `bad_request`, `not_found`. */
export interface OperatorActs extends DeadActs, HandlerActs, QuarantineActs, ReplayActs, UpkeepActs {}

export interface ActOptions extends HandlerActOptions {
  readonly inbox: ViewPort & SubscriptionPort
  readonly readEvent: ReadEvent
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export function createOperatorActs(options: ActOptions): OperatorActs {
  const { inbox, readEvent, now, onRecall } = options
  return {
    ...createDeadActs(inbox),
    ...createHandlerActs(options),
    ...createQuarantineActs(inbox, readEvent),
    ...createReplayActs(inbox, () => onRecall?.(null)),
    ...createUpkeepActs(inbox, now),
  }
}
