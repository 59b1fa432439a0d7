import type { SourceKey, SourceKeyPort } from '../types.ts'
import type { Database } from './database.ts'
import { fromStored, toStored } from './text.ts'

/** Fetched public keys, shared by all replicas. */
export function createSourceKeys(db: Database): SourceKeyPort {
  return {
    async sourceKeys(source) {
      const keys = await db.query<SourceKey>('SELECT id, spki FROM inbox.source_key WHERE source = $1', [source])
      return keys.map(({ id, spki }) => ({ id: fromStored(id), spki }))
    },
    storeSourceKeys: (source, keys) =>
      db.exclusively(async (trx) => {
        await trx.query('DELETE FROM inbox.source_key WHERE source = $1', [source])
        await trx.query(
          'INSERT INTO inbox.source_key (source, id, spki) SELECT $1, k.id, k.spki FROM json_to_recordset($2::json) AS k(id text, spki text)',
          [source, JSON.stringify(keys.map(({ id, spki }) => ({ id: toStored(id), spki })))],
        )
      }),
  }
}
