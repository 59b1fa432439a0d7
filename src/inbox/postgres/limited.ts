import type { Database } from './database.ts'

/** The same database with at most so many statements and transactions under way; the others wait for their turn. What is left is for others. */
export function limited(db: Database, most: number): Database {
  let free = most
  const waiting: (() => void)[] = []

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }

  return {
    ...db,
    query: (text, values, limitMs) => inTurn(() => db.query(text, values, limitMs)),
    alone: (work) => inTurn(() => db.alone(work)),
  }
}
