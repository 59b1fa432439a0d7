const long = Boolean(process.env['LONG'])

/** How much the tests that could go on for ever do: in CI, and with LONG=1. */
export const counts = {
  killRounds: long ? 200 : 20,
  /** Kills while handlers write state and leave items in the outbox. */
  effectKillRounds: long ? 100 : 20,
  /** Of 1 MB each, to a process with a small heap. */
  largeBodies: long ? 5_000 : 600,
  overloadConnections: long ? 2_000 : 400,
  envelopeRuns: long ? 50_000 : 2_000,
  /** Open runs that a start finds. */
  backlogRuns: long ? 1_000_000 : 100_000,
  /** Power cuts, each under load, with a start on what was left. */
  powerCuts: long ? 40 : 5,
  /** A kill before the first fsync of a life, before the second, and so on. Some 14 belong to a first start. */
  killsBeforeFsync: long ? 80 : 18,
  /** Good events around one that poisons its handler. */
  innocentsBesidePoison: long ? 2_000 : 60,
  /** Events that kill the thread of the handlers, one after the other. */
  poisonedEvents: long ? 60 : 6,
  /** Simulations of receiver, store and dispatcher with faults. */
  simulationSeeds: long ? 10_000 : 1_000,
  /** Times the wall clock is set, hours forward or back. */
  clockJumps: long ? 100 : 4,
  /** How long a reader keeps checkpoints from resetting the log. */
  blockedCheckpointMs: long ? 60_000 : 4_000,
  /** Times the files are damaged, each followed by a start. */
  corruptions: long ? 200 : 12,
  /** Backups under load, with kills in between. */
  backups: long ? 60 : 3,
  /** Open runs that an upgrade finds, and kills during that upgrade. */
  upgradeBacklog: long ? 50_000 : 2_000,
  upgradeKills: long ? 60 : 4,
  partitions: long ? 40 : 4,
  /** Longer than one attempt to forward may take; 0: not at all. */
  longStallMs: long ? 40_000 : 0,
  /** How long faults take turns, and how long it rests between two. */
  soakMs: long ? 3_600_000 : 30_000,
  soakRestMs: long ? 3_000 : 0,
}
