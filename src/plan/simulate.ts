import { databaseCapacity, handledPerSecond, slots, type Capacity } from './capacity.ts'
import { arrivalsOfDay } from './day.ts'
import type { Plan } from './model.ts'
import { runQueue, type Outcome } from './queue.ts'

/** Something that goes wrong on a day: what it leaves of the capacity, and for how many seconds from 15:00 on. */
interface Incident {
  readonly seconds: number
  readonly leaves: (capacity: Capacity) => Capacity
}

const incidents = {
  none: { seconds: 0, leaves: (capacity) => capacity },
  store_away: { seconds: 600, leaves: () => ({ acceptPerSecond: 0, resources: [{ accept: 0, handle: Infinity }] }) },
  handlers_paused: {
    seconds: 3_600,
    leaves: (capacity) => ({ ...capacity, resources: [{ accept: 0, handle: Infinity }] }),
  },
} as const satisfies Readonly<Record<string, Incident>>

export type IncidentName = keyof typeof incidents

/** One hour of a day, of one database. */
export interface Hour {
  readonly hour: number
  /** Events a second. */
  readonly mean: number
  readonly busiest: number
}

/** One day of one database of a plan, or of its one process. */
export interface SimulatedDay {
  readonly incident: IncidentName
  readonly incidentSeconds: number
  readonly totals: Omit<Outcome, 'seconds'>
  readonly largestBacklog: number
  /** Events that were stored and not handled at the end of the day. */
  readonly backlogAtEnd: number
  /**
   * Seconds from the end of the incident until nothing that it held up was left: no backlog, and nothing that the sender has yet to send
   * again. Null if that was not so at the end of the day.
   */
  readonly overAfterSeconds: number | null
}

export interface Simulation {
  /** The whole has so many of these. */
  readonly databases: number
  /** Events a second that each of them stores, and stores and handles. */
  readonly acceptPerSecond: number
  readonly handledPerSecond: number
  readonly hours: readonly Hour[]
  readonly days: readonly SimulatedDay[]
}

const secondsPerHour = 3_600
const incidentFrom = 15 * secondsPerHour

/**
 * Sends a day's events to what the plan says is needed, second by second: once as it is, and once with each incident. With several
 * databases it is one of them, with its share of the events. `random` gives numbers in [0, 1).
 */
export function simulatePlan(plan: Plan, random: () => number): Simulation {
  const { demand, postgres, sqlite, store } = plan
  const databases = store === 'sqlite' ? 1 : postgres.cluster.databases
  const { acceptPerSecond, resources } =
    store === 'sqlite' ? sqlite.capacity : databaseCapacity(demand.handlers, postgres.cluster)
  const atOnce = plan.concurrency * (store === 'sqlite' ? 1 : postgres.cluster.replicas)
  const capacity = { acceptPerSecond, resources: [...resources, slots(demand, atOnce)] }
  const arrivals = arrivalsOfDay({ events: demand.eventsPerDay / databases, peak: demand.peak, random })
  const names = Object.keys(incidents) as IncidentName[]
  return {
    databases,
    acceptPerSecond,
    handledPerSecond: handledPerSecond(capacity),
    hours: hoursOf(arrivals),
    days: names.map((name) => simulateDay(arrivals, capacity, name)),
  }
}

function simulateDay(arrivals: readonly number[], capacity: Capacity, name: IncidentName): SimulatedDay {
  const { seconds: incidentSeconds, leaves }: Incident = incidents[name]
  const incidentTo = incidentFrom + incidentSeconds
  const { seconds, ...totals } = runQueue(arrivals, (second) =>
    second >= incidentFrom && second < incidentTo ? leaves(capacity) : capacity,
  )
  const last = seconds.at(-1)
  const isHeldUp = seconds.map(({ backlog, outstanding }) => backlog >= 1 || outstanding >= 1)
  return {
    incident: name,
    incidentSeconds,
    totals,
    largestBacklog: seconds.reduce((most, { backlog }) => Math.max(most, backlog), 0),
    backlogAtEnd: last?.backlog ?? 0,
    overAfterSeconds: isHeldUp.at(-1) === true ? null : Math.max(0, isHeldUp.lastIndexOf(true) + 1 - incidentTo),
  }
}

function hoursOf(arrivals: readonly number[]): readonly Hour[] {
  return Array.from({ length: arrivals.length / secondsPerHour }, (_, hour) => {
    const part = arrivals.slice(hour * secondsPerHour, (hour + 1) * secondsPerHour)
    const total = part.reduce((sum, arrived) => sum + arrived, 0)
    return { hour, mean: total / secondsPerHour, busiest: Math.max(...part) }
  })
}
