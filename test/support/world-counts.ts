const long = Boolean(process.env['LONG'])

/** How much the tests of the simulated world do: in CI, and with LONG=1. */
export const worldCounts = {
  /** Worlds that run for a day each and must show all types of events. */
  dayLongWorlds: long ? 100 : 5,
  /** Worlds with random acts at random moments, and how many acts each gets at most. */
  actRuns: long ? 100 : 8,
  actsPerRun: long ? 50 : 25,
  /** Worlds in which every trigger is pulled again and again, and how often. */
  triggerWorlds: long ? 20 : 2,
  triggersPerType: 30,
  /** Worlds whose answers are compared with each other, and at how many moments. */
  agreementWorlds: long ? 20 : 2,
  agreementMoments: long ? 24 : 4,
  /** Worlds that are stopped, put away and taken up again. */
  restoreRuns: long ? 100 : 6,
  /** Lists that are read page by page while more trades come. */
  pageRuns: long ? 150 : 15,
  /** Properties of numbers, pools and curves. */
  numberRuns: long ? 20_000 : 1_000,
  curveRuns: long ? 2_000 : 100,
}

/** Seeds with numbers from 1 on. */
export function worldSeeds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `world-${index + 1}`)
}
