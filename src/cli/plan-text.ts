import { roughMs } from '../doctor/sync-speed.ts'
import { inputs, type Input } from '../plan/inputs.ts'
import type { Bound, Plan, StorePlan } from '../plan/model.ts'
import type { IncidentName, SimulatedDay, Simulation } from '../plan/simulate.ts'
import { renderTable } from './table.ts'

/** A plan for people: what was asked, the figures of both stores, what to take, and what all of it rests on. */
export function renderPlan(plan: Plan): string {
  const { demand, perSecond, sqlite, postgres } = plan
  const { bodyBytes, handlers, handlerMs, retentionDays, fsyncMs } = demand
  const kept = retentionDays === 0 ? 'kept for ever' : `kept ${count(retentionDays, 'day')}`
  const asked = [
    [
      'events a day',
      `${round(demand.eventsPerDay)} of ${round(bodyBytes)} bytes, for ${count(handlers, 'handler')}, ${kept}`,
    ],
    ['events a second', `${round(perSecond.mean)} on average, ${round(perSecond.peak)} in the busiest second`],
    ['processor', `${round(plan.cpuSecondsPerDay)} s of one core a day, without what handlers and PostgreSQL do`],
    [
      'runs at once',
      `${round(plan.runsAtOnce)} in the busiest second, of ${handlerMs} ms each: INBOX_CONCURRENCY=${plan.concurrency}`,
    ],
  ]
  const { databases, cores, replicas } = postgres.cluster
  const each = databases === 1 ? '' : ' each'
  const both = (name: string, of: (store: StorePlan) => string) => [name, of(sqlite), of(postgres)]
  const stores = [
    both('bytes of an event', ({ bytes }) => `${round(bytes.kept)}, pruned ${round(bytes.pruned)}`),
    both('disk after a year', ({ disk }) => size(disk.total)),
    both('  with bodies', ({ disk }) => size(disk.kept)),
    both('  pruned', ({ disk }) => size(disk.pruned)),
    both('a further year adds', ({ disk }) => size(disk.perYear)),
    both('commits a second', ({ commitsPerSecond }) => (commitsPerSecond === null ? '–' : round(commitsPerSecond))),
    both('acknowledged after', ({ acknowledgeMs }) =>
      acknowledgeMs === null ? 'too late' : `${roughMs(acknowledgeMs.mean)}, ${roughMs(acknowledgeMs.slow)} at times`,
    ),
    both('takes at most', ({ handledPerSecond }) => `${round(handledPerSecond)} events/s`),
    both('bound by', ({ bound }) => `${boundNames[bound.by]}: ${percent(bound.share)}`),
    ['databases', '1 file', databases === 1 ? '1' : `${databases}, with a part of the addresses${each}`],
    ['cores of the database', '–', `${cores}${each}, ${round(postgres.serverSecondsPerDay)} s a day`],
    ['replicas', '1', `${replicas}${each}, one of them to spare`],
  ]
  return [
    'A model, not a measurement of your machine.',
    renderTable(['asked for', ''], asked),
    renderTable(['needed, in the busiest second', 'SQLite', 'PostgreSQL'], stores),
    advise(plan),
    `It rests on figures of two shared cores, with a durable write of ${roughMs(fsyncMs)} as asked for, and on what nobody has measured:\n` +
      assumptions()
        .map(({ value, unit, how }) => `- ${round(value)} ${unit}: ${how}`)
        .join('\n'),
    'How each figure was measured: --json, and docs/scaling.md. Measure your own machine: `onchain-inbox doctor`, `onchain-inbox bench`.',
  ].join('\n\n')
}

const boundNames: Readonly<Record<Bound, string>> = {
  process: 'its processor',
  disk: 'the size of its file',
  accepts: 'acceptances, which take turns',
  server: 'processor of the database',
  replicas: 'processor of the replicas',
  keys: 'order per address',
}

function assumptions(): readonly Input[] {
  const all: readonly Input[] = Object.values(inputs)
  return all.filter(({ basis }) => basis === 'assumed')
}

function advise({ demand, sqlite, postgres, store }: Plan): string {
  const { databases } = postgres.cluster
  const upTo = `up to ${round(sqlite.upToPerDay)} events a day, all else as asked for`
  const lines =
    store === 'sqlite'
      ? [`SQLite is enough: ${upTo}. Move to PostgreSQL before that, or when one process may not be the only one.`]
      : [
          demand.replicas > 1 && demand.eventsPerDay <= sqlite.upToPerDay
            ? `PostgreSQL, because more than one process is asked for: SQLite would be enough ${upTo}.`
            : `PostgreSQL: SQLite is enough ${upTo}.`,
        ]
  if (store === 'postgres' && databases > 1) {
    lines.push(
      `More than one database takes: ${databases} inboxes, each with its own subscriptions, or its own part of the addresses.`,
    )
  }
  if ((store === 'sqlite' ? sqlite : postgres).bound.by === 'keys') {
    lines.push(
      'Events of one address are handled one after the other, which no store makes faster: faster handlers, or `order: none`.',
    )
  }
  return lines.join('\n')
}

/** The days that were simulated, for people. */
export function renderSimulation(plan: Plan, simulation: Simulation, seed: string): string {
  const { databases, acceptPerSecond, handledPerSecond, hours, days } = simulation
  const whose = databases === 1 ? 'all of it' : `one of ${databases} alike databases, a ${databases}th of the events`
  const top = Math.max(...hours.map(({ mean }) => mean), 1e-9)
  const bar = (mean: number) => '#'.repeat(Math.round((mean / top) * 24))
  return [
    `Simulated: a day, second by second (seed ${seed}), of ${whose}. It stores at most ${round(acceptPerSecond)} events/s, and stores and ` +
      `handles ${round(handledPerSecond)}.\nThe events follow a curve with its top at 15:00, and 24 bursts of ${round(plan.demand.peak)} times the mean; ` +
      'what goes wrong begins at 15:00.',
    renderTable(
      ['hour', 'events/s', 'busiest', ''],
      hours.map(({ hour, mean, busiest }) => [String(hour).padStart(4), round(mean), round(busiest), bar(mean)]),
    ),
    renderTable(
      ['a day', 'arrived', 'stored', 'refused (503)', 'given up', 'backlog, at most', 'at the end', 'over after'],
      days.map(dayRow),
    ),
  ].join('\n\n')
}

function dayRow({ incident, totals, largestBacklog, backlogAtEnd, overAfterSeconds }: SimulatedDay): readonly string[] {
  const over = overAfterSeconds === null ? 'not that day' : `${round(overAfterSeconds)} s`
  return [
    incidentNames[incident],
    ...[totals.arrived, totals.stored, totals.refused, totals.givenUp, largestBacklog, backlogAtEnd].map(round),
    incident === 'none' ? '–' : over,
  ]
}

const incidentNames: Readonly<Record<IncidentName, string>> = {
  none: 'as it is',
  store_away: 'store away, 10 min',
  handlers_paused: 'handlers paused, 1 h',
}

/** Whole, or with two digits that count. */
function round(number: number): string {
  return (number >= 10 ? Math.round(number) : Number(number.toPrecision(2))).toLocaleString('en-US')
}

function count(number: number, what: string): string {
  return `${round(number)} ${what}${number === 1 ? '' : 's'}`
}

function percent(share: number): string {
  return `${round(share * 100)} %`
}

const sizes = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const

function size(bytes: number): string {
  const power = Math.min(sizes.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  return `${round(bytes / 1_000 ** power)} ${sizes[power] ?? ''}`
}
