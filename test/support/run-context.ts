import { createTestClock, type Clock } from '../../src/base/clock.ts'
import { RunContext } from '../../src/dispatch/context.ts'
import type { KnownSinks } from '../../src/dispatch/outbox.ts'
import { StateCache, type ReadState } from '../../src/dispatch/state-cache.ts'
import type { Lease } from '../../src/inbox/port.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { eventBytes } from './signed.ts'

/** A lease of event `evt_1` for the handler `h`, with changes. */
function aLease(given: Partial<Lease> = {}): Lease {
  const event = {
    seq: 1,
    id: 'evt_1',
    type: 'x',
    createdAt: '',
    receivedAt: 0,
    key: 'evt_1',
    secretLabel: 'main',
    raw: eventBytes({ id: 'evt_1' }),
  }
  return {
    runId: 7,
    token: 3,
    handler: 'h',
    attempt: 1,
    failed: 0,
    crashed: 0,
    event,
    key: null,
    replay: null,
    item: null,
    ...given,
  }
}

export interface ContextParts {
  readonly lease?: Partial<Lease>
  /** Body of the event. */
  readonly raw?: Uint8Array
  readonly clock?: Clock
  /** Default: nothing is stored. */
  readonly readState?: ReadState
  readonly state?: StateCache
  readonly sinks?: KnownSinks
  /** Default: silent. */
  readonly log?: Logger
}

/** The context of a handler. */
export function aContext(parts: ContextParts = {}): RunContext {
  const { clock = createTestClock(), readState = async () => [], sinks = new Map() } = parts
  const state = parts.state ?? new StateCache(readState)
  const lease = aLease(parts.lease)
  const event = { ...lease.event, ...(parts.raw && { raw: parts.raw }) }
  return new RunContext({ lease: { ...lease, event }, state, sinks, clock, log: parts.log ?? silentLogger })
}
