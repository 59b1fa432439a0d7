/** Times come from the database's clock, so data about replicas' clocks is dropped. Older programs can't run on this schema. */
export const databaseClock: readonly string[] = [
  `DROP TABLE inbox.clock_shift`,
  `DELETE FROM inbox.meta WHERE name = 'seen_at'`,
]
