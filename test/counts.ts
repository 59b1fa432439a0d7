const long = Boolean(process.env['LONG'])

/** How much the tests that could go on for ever do: in CI, and with LONG=1. */
export const counts = {
  killRounds: long ? 200 : 3,
  /** Kills while handlers write state and leave items in the outbox. */
  effectKillRounds: long ? 100 : 2,
  /** Of 1 MB each, to a process with a small heap. */
  largeBodies: long ? 5_000 : 300,
  overloadConnections: long ? 2_000 : 400,
  /** How long idle uploads are kept up, and how many deliveries come meanwhile. */
  idleUploadMs: long ? 60_000 : 5_000,
  idleUploadDeliveries: long ? 2_000 : 200,
  envelopeRuns: long ? 50_000 : 500,
  /** Open runs that a start finds. */
  backlogRuns: long ? 1_000_000 : 100_000,
  /** Power cuts, each under load, with a start on what was left. */
  powerCuts: long ? 40 : 2,
  /** A kill before the first fsync of a life, before the second, and so on. Some 14 belong to a first start. */
  killsBeforeFsync: long ? 80 : 14,
  /** Good events around one that poisons its handler. */
  innocentsBesidePoison: long ? 2_000 : 30,
  /** Events that kill the thread of the handlers, one after the other. */
  poisonedEvents: long ? 60 : 6,
  /** Simulations of receiver, store and dispatcher with faults. */
  simulationSeeds: long ? 10_000 : 200,
  /** Times the wall clock is set, hours forward or back. */
  clockJumps: long ? 100 : 2,
  /** How long a reader keeps checkpoints from resetting the log. */
  blockedCheckpointMs: long ? 60_000 : 2_000,
  /** Times the files are damaged, each followed by a start. */
  corruptions: long ? 200 : 4,
  /** Backups under load, with kills in between. */
  backups: long ? 60 : 2,
  /** Open runs that an upgrade finds, and kills during that upgrade. */
  upgradeBacklog: long ? 50_000 : 2_000,
  upgradeKills: long ? 60 : 3,
  partitions: long ? 40 : 2,
  /** Longer than one attempt to forward may take; 0: not at all. */
  longStallMs: long ? 40_000 : 0,
  /** How long faults take turns (0: skipped; each fault has a test of its own), and how long it rests between two. */
  soakMs: long ? 3_600_000 : 0,
  soakRestMs: long ? 3_000 : 0,
  /** Random calls of the inbox, compared with a model. */
  sqliteWalks: long ? 1_000 : 80,
  postgresWalks: long ? 200 : 20,
  /** Times that a replica comes, goes, is silent or accepts, while some have a handler that others have not. */
  rollingSteps: long ? 400 : 14,
  /** Events that three replicas take while they and their database are killed, stopped and cut off. */
  clusterEvents: long ? 100_000 : 800,
  /** Items that wait for a sink whose breaker is open. */
  breakerBacklog: long ? 100_000 : 5_000,
  /** Requests of the client that nobody has thought of. */
  clientRequestRuns: long ? 20_000 : 500,
  /** Hostile texts that each chat is sent. */
  chatRuns: long ? 2_000 : 40,
  /** Requests to the admin API that nobody has thought of. */
  adminRequests: long ? 5_000 : 200,
  /** Refused deliveries whose explanation must not hold what is secret. */
  rejectSamples: long ? 2_000 : 100,
  /** Rows of the console's list of events, scrolled through. */
  scrolledRows: long ? 10_000 : 4_000,
  /** Colours and widths in which every page of the dashboard is looked at. */
  dashboardLooks: long ? 4 : 2,
  /** Kills of an emulator while it sends. */
  emulatorSendingKills: long ? 40 : 3,
  /** Requests that each property of the emulator's REST service sends. */
  restFuzzRuns: long ? 5_000 : 200,
  /** Paths that nobody has thought of, asked of the control routes. */
  controlPathRuns: long ? 20_000 : 300,
  /** Events written by each profile of the serializer. */
  serializerRuns: long ? 20_000 : 500,
}

/** How much the tests of the simulated world do: in CI, and with LONG=1. */
export const worldCounts = {
  /** Worlds that run for a day each and must show all types of events. */
  dayLongWorlds: long ? 100 : 1,
  /** Worlds with random acts at random moments, and how many acts each gets at most. */
  actRuns: long ? 100 : 3,
  actsPerRun: long ? 50 : 25,
  /** Worlds in which every trigger is pulled again and again, and how often. */
  triggerWorlds: long ? 20 : 1,
  triggersPerType: 30,
  /** Lists that are read page by page while more trades come. */
  pageRuns: long ? 150 : 4,
  /** Properties of numbers, pools and curves. */
  numberRuns: long ? 20_000 : 200,
  curveRuns: long ? 2_000 : 20,
}

/** Seeds with numbers from 1 on. */
export function worldSeeds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `world-${index + 1}`)
}
