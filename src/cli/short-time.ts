/** The time of day of an instant, in UTC. Pure. */
export function timeOfDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19)
}

/** The same of an instant read beside another one: with its date where it is of another day. Pure. */
export function timeSeenFrom(otherMs: number, atMs: number): string {
  const [other, date] = [otherMs, atMs].map((ms) => new Date(ms).toISOString().slice(0, 10))
  return date === other ? timeOfDay(atMs) : `${date} ${timeOfDay(atMs)}`
}
