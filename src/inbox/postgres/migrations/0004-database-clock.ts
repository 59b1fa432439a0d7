/** Times come from the database's clock, so the data for synchronizing the replicas' clocks goes. Older programs can't run on this schema. */
export const databaseClock: readonly string[] = [
  `DROP TABLE inbox.clock_shift`,
  `DELETE FROM inbox.meta WHERE name = 'seen_at'`,
]
