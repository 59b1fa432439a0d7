/** A number that the model works with, and where it is from. */
export interface Input {
  readonly value: number
  readonly unit: string
  /** `assumed`: nobody has measured it. */
  readonly basis: 'measured' | 'assumed'
  readonly how: string
}

const measured = (value: number, unit: string, how: string): Input => ({ value, unit, basis: 'measured', how })
const assumed = (value: number, unit: string, how: string): Input => ({ value, unit, basis: 'assumed', how })

const sqliteFill =
  '50,000 varied events of 599 bytes (test/bench/fill.ts) stored by the program; used pages of the file by events'
const postgresFill =
  'the same 50,000 events through `inbox.accept` in batches of 100 into PostgreSQL 18, runs claimed and settled by two updates each; tables ' +
  'and indexes by events, as they stood at the end'
const bench =
  '`npm run bench -- --events 50000`, median of 3 rounds, 64 connections, on two shared virtual cores, which the sender shared'
const study =
  'study before docs/decisions/0024, with a first form of its statements: PostgreSQL 18 on two shared virtual cores, single runs'

/** Everything the model takes from outside. Bytes are of one event or run, microseconds are of a processor. */
export const inputs = {
  sqliteEventBytes: measured(203, 'bytes', `${sqliteFill}: table \`event\` and its index of ids`),
  sqliteBodyExtraBytes: measured(
    106,
    'bytes',
    'there, beyond the body itself: 27 to 106 with bodies of 599 to 4,000 bytes',
  ),
  sqliteRunBytes: measured(116, 'bytes', 'there, for each handler, with 1 and with 3'),
  sqlitePrunedBytes: measured(208, 'bytes', 'there, what was left when all events were pruned'),
  sqliteAcceptMicros: measured(22, 'µs', "there, the writer's transactions of 100 events, synchronous off"),
  sqliteRunMicros: measured(19, 'µs', 'there, for each run: created, claimed, settled'),
  indexBytes: measured(280, 'bytes', '267 MiB for a million varied events (test/bench/console.ts)'),

  postgresEventBytes: measured(
    287,
    'bytes',
    `${postgresFill}: table \`event\`, with two indexes; it stays when the event is pruned`,
  ),
  postgresBodyExtraBytes: measured(104, 'bytes', 'there, beyond the body itself'),
  postgresLargeBodyFactor: measured(
    1.43,
    'times',
    'there, bodies of 2,000 bytes; 1.41 with 4,000: they stand apart, in pieces',
  ),
  postgresLargeBody: assumed(
    1_900,
    'bytes',
    'rows of more than 2 kB are put apart, and a row has fields beside the body',
  ),
  postgresRunBytes: measured(
    640,
    'bytes',
    'there, 520 to 640 for each run, with seven indexes and the room of dead rows',
  ),
  postgresIndexBytes: assumed(280, 'bytes', 'as the index of SQLite: that of PostgreSQL was not measured'),
  postgresAcceptMicros: measured(36, 'µs', `33 to 36 of the server; ${study}`),
  postgresRunMicros: measured(
    80,
    'µs',
    '57 to 80 of the server, claim and settle, 2,000 to 100,000 keys; the same study',
  ),
  postgresAcceptPerSecond: measured(
    17_000,
    'events a second',
    '17,000 to 26,000 with 3 processes, 22,000 to 25,000 with one; the same study',
  ),

  acceptPerSecond: measured(13_600, 'events a second', `SQLite, no handler; ${bench}`),
  handledPerSecond: measured(10_770, 'events a second', 'SQLite, a handler that does nothing; the same bench'),
  acceptCpuMicros: measured(82, 'µs', 'all threads of the process, no handler; the same bench'),
  runCpuMicros: measured(35, 'µs', 'what a handler that does nothing adds; the same bench'),
  indexCpuMicros: measured(100, 'µs', 'about so much, in a thread of its own when there is time (docs/decisions/0021)'),

  replicaShare: measured(
    0.75,
    'process',
    'with SQLite: 259 µs of processor for an event with one handler, against 200 µs there, in the same hour; `npm run bench -- --postgres`',
  ),
  headroom: assumed(
    0.7,
    'of what was measured',
    'what is planned for; the rest is for other machines, neighbours, maintenance',
  ),
  spareReplicas: assumed(1, 'replica', 'of each database may be away, restarted or dead'),
  sqliteSlack: assumed(1.1, 'times', 'a tenth of the file stays free after pruning (docs/operations.md)'),
  postgresSlack: assumed(1.2, 'times', 'room that deleted rows leave until they are vacuumed; not measured over days'),
  sqliteMostBytes: assumed(
    1e12,
    'bytes',
    'a file of 1 TB, one year on: a backup copies all of it. Measured were 10 million stored events, at no loss of speed',
  ),
  roundTripMs: assumed(0.5, 'ms', 'from a replica to PostgreSQL and back, in one data centre'),
} as const satisfies Readonly<Record<string, Input>>
