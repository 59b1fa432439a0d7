/** What an inbox is to take. */
export interface Demand {
  readonly eventsPerDay: number
  /** Days that bodies and runs are kept; 0 for ever. */
  readonly retentionDays: number
  readonly bodyBytes: number
  /** Handlers, and sinks, that each event goes to. */
  readonly handlers: number
  /** Events in the busiest second, as a multiple of the mean; at least 1. */
  readonly peak: number
  /** Addresses that have events at the same time; the load is taken to be spread evenly over them. */
  readonly keys: number
  /** At least so many replicas of each database; 1 leaves it to the model. */
  readonly replicas: number
  /** Milliseconds of one durable write. */
  readonly fsyncMs: number
  /** Milliseconds that a handler takes for one event. */
  readonly handlerMs: number
}

export const secondsPerDay = 86_400

/** Events a second. */
export interface Rates {
  readonly mean: number
  readonly peak: number
}

export function ratesOf({ eventsPerDay, peak }: Demand): Rates {
  const mean = eventsPerDay / secondsPerDay
  return { mean, peak: mean * peak }
}
