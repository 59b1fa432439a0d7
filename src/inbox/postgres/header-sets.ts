import type { Rows } from './database.ts'
import { mostHeaderSets } from './functions/accept.ts'

/** The sets of headers that events came with, as far as they are known here: each is stored once. */
export interface HeaderSets {
  /** The id of a set that is known (its text as stored); null if there is none, or it is not. */
  knownId(headers: string | null): number | null
  /** Whether a set that is not known may still be kept. */
  hasRoom(): boolean
  /** Learns what was added since, by this process or another. */
  learn(rows: Rows): Promise<void>
}

export function createHeaderSets(): HeaderSets {
  const ids = new Map<string, number>()
  let lastId = 0
  return {
    knownId: (headers) => (headers === null ? null : (ids.get(headers) ?? null)),
    hasRoom: () => ids.size < mostHeaderSets,
    async learn(rows) {
      const added = await rows.query<{ id: number; headers: string }>(
        `SELECT id, headers FROM inbox.header_set WHERE id > $1 ORDER BY id`,
        [lastId],
      )
      for (const { id, headers } of added) ids.set(headers, id)
      lastId = added.at(-1)?.id ?? lastId
    },
  }
}
