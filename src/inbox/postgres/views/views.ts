import { sql } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Clock } from '../../../base/clock.ts'
import type { Tables, ViewStore } from '../../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../../views/views.ts'
import type { Rows } from '../database.ts'
import { kyselyOf } from '../kysely.ts'
import { measureSize } from '../prune.ts'

/** The views of this store. */
export const createViews = (db: Rows, clock: Pick<Clock, 'now'>): Views => createSharedViews(viewStoreOf(db), clock)

/** `sizeBytes` is the estimate that pruning goes by. */
export function viewStoreOf(db: Rows): ViewStore {
  return {
    db: kyselyOf<Tables>(db),
    attemptOrder: 'attempt.seq',
    jsonRows: jsonArrayFrom,
    bodyHas: (pattern) => sql`convert_from(body.raw, 'UTF8') collate "C" ilike ${pattern} escape '\\'`,
    sizeBytes: async () => Math.round((await measureSize(db)).usedBytes),
  }
}
