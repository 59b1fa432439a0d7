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

interface ClusterTables extends Tables {
  readonly definition: { readonly handler: string; readonly unheld_at: number | null }
}

/** `sizeBytes` is the estimate that pruning goes by. */
export function viewStoreOf(db: Rows): ViewStore {
  return {
    db: kyselyOf<Tables>(db),
    async heldHandlers() {
      const held = kyselyOf<ClusterTables>(db).selectFrom('definition').select('handler').where('unheld_at', 'is', null)
      return new Set((await held.execute()).map(({ handler }) => handler))
    },
    attemptOrder: 'attempt.seq',
    jsonRows: jsonArrayFrom,
    bodyHas: (pattern) => sql`convert_from(body.raw, 'UTF8') collate "C" ilike ${pattern} escape '\\'`,
    sizeBytes: async () => Math.round((await measureSize(db)).usedBytes),
  }
}
