const long = Boolean(process.env['LONG'])

/** Sizes of tests without a natural end: small by default, large with LONG=1. */
export const counts = {
  /** Maximum pause of a sender between two requests. */
  loadRestMs: long ? 0 : 100,
  /** Maximum number of acknowledged events before a kill, a power cut or another fault. */
  eventsPerFault: long ? 1_000 : 150,
  killRounds: long ? 200 : 2,
  /** Bodies of 1 MB each, sent to a process with a small heap. */
  largeBodies: long ? 5_000 : 130,
  overloadConnections: long ? 2_000 : 400,
  /** Duration of idle uploads, and deliveries sent during them. */
  idleUploadMs: long ? 60_000 : 2_500,
  idleUploadDeliveries: long ? 2_000 : 200,
  /** Ways to cut signed texts into values. */
  sourceCuts: long ? 1_000_000 : 20_000,
  envelopeRuns: long ? 50_000 : 500,
  /** Power cuts under load, each followed by a start on the remaining data. */
  powerCuts: long ? 40 : 2,
  /** Fsyncs of a process before which it is killed. A first start has about 14. */
  killedFsyncs: long ? Array.from({ length: 80 }, (_, n) => 1 + n) : [2, 13, 25],
  /** Good events around one that kills the thread of its handler. */
  innocentsBesidePoison: long ? 2_000 : 30,
  /** Consecutive events that kill the thread of the handlers. */
  poisonedEvents: long ? 60 : 6,
  /** Simulations of receiver, store and dispatcher with faults. */
  simulationSeeds: long ? 10_000 : 60,
  /** Changes of the wall clock, by hours forward or back. */
  clockJumps: long ? 100 : 2,
  /** Time during which a reader prevents checkpoints from resetting the write-ahead log. */
  blockedCheckpointMs: long ? 60_000 : 2_000,
  /** Damages of the files, each followed by a start. */
  corruptions: long ? 1_000 : 6,
  /** Backups under load, with kills in between. */
  backups: long ? 60 : 2,
  /** Open runs at the start of an upgrade, and kills during that upgrade. */
  upgradeBacklog: long ? 50_000 : 300,
  upgradeKills: long ? 60 : 2,
  partitions: long ? 40 : 2,
  /** Duration of a stall that exceeds the timeout of a forward attempt; 0: a short stall instead. */
  longStallMs: long ? 40_000 : 0,
  /** Duration of the test with alternating faults (0: skipped, because each fault has its own test), and pause between two faults. */
  soakMs: long ? 3_600_000 : 0,
  soakRestMs: long ? 3_000 : 0,
  /** Time in which the memory of a process must stay flat; 0: skipped. */
  restSeconds: long ? 3_600 : 0,
  /** Sequences of random calls to an inbox, compared with a model. */
  sqliteWalks: long ? 1_000 : 30,
  postgresWalks: long ? 200 : 6,
  /** Events sent to three replicas while they and their database are killed, stopped and disconnected. */
  clusterEvents: long ? 100_000 : 400,
  /** Pending items of a sink whose breaker is open. */
  breakerBacklog: long ? 100_000 : 2_000,
  /** Random requests of the client. */
  clientRequestRuns: long ? 20_000 : 500,
  /** Hostile texts sent to each chat service. */
  chatRuns: long ? 2_000 : 40,
  /** Random requests to the admin API. */
  adminRequests: long ? 5_000 : 200,
  /** Rejected deliveries whose explanation must not contain secrets. */
  rejectSamples: long ? 2_000 : 100,
  /** Rows of the console's event list to scroll through. */
  scrolledRows: long ? 10_000 : 500,
  /** Events written by each profile of the serializer. */
  serializerRuns: long ? 20_000 : 500,
}

/** Sizes of the tests of the simulated world: small by default, large with LONG=1. */
export const worldCounts = {
  /** Worlds that each simulate a day and must produce all event types. */
  dayLongWorlds: long ? 100 : 1,
  /** Worlds with random actions at random times, and the maximum actions per world. */
  commandRuns: long ? 100 : 3,
  commandsPerRun: long ? 50 : 25,
  /** Worlds in which each event type is triggered repeatedly, and how often. */
  triggerWorlds: long ? 20 : 1,
  triggersPerType: 30,
  /** Lists read page by page while new trades arrive. */
  pageRuns: long ? 150 : 4,
  /** Random samples for properties of numbers, pools and curves. */
  numberRuns: long ? 20_000 : 200,
  curveRuns: long ? 2_000 : 20,
}

/** Seeds `world-1`, `world-2` … */
export function worldSeeds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `world-${index + 1}`)
}
