import type { Database } from 'better-sqlite3'
import { runStates, type RunState } from '../../src/inbox/port.ts'

/** A run as a commit left it. */
export interface RunRow {
  readonly id: number
  readonly seq: number
  readonly handler: string
  readonly key: string | null
  readonly state: RunState
  readonly attempt: number
  readonly failed: number
  readonly crashed: number
  readonly token: number
}

/** One change of a row, in the order in which the changes were made. */
export type Change =
  | { readonly kind: 'event'; readonly seq: number; readonly id: string }
  | { readonly kind: 'quarantined'; readonly id: string }
  | { readonly kind: 'run'; readonly run: RunRow }
  /** Null: all handlers together. */
  | { readonly kind: 'paused'; readonly handler: string | null; readonly isPaused: boolean }
  | { readonly kind: 'item'; readonly runId: number; readonly idempotencyKey: string; readonly payload: string }

interface Row {
  readonly kind: Change['kind']
  readonly number: number
  readonly text: string
  readonly more: string | null
  readonly seq: number
  readonly handler: number
  readonly state: number
  readonly attempt: number
  readonly failed: number
  readonly crashed: number
  readonly token: number
}

const runColumns = `seq, handler, state, attempt, failed, crashed, token`
const newRun = `'run', new.id, '', new.key, new.event_seq, new.handler_id, new.state, new.attempt, new.failed, new.crashed, new.token`
const intoRun = `INSERT INTO change_log (kind, number, text, more, ${runColumns}) VALUES (${newRun});`
const into = `INSERT INTO change_log (kind, number, text, more) VALUES`

const setUp = `
  CREATE TEMP TABLE change_log (n INTEGER PRIMARY KEY, kind, number, text, more, ${runColumns});
  CREATE TEMP TRIGGER log_event AFTER INSERT ON main.event BEGIN ${into} ('event', new.seq, new.id, NULL); END;
  CREATE TEMP TRIGGER log_quarantined AFTER INSERT ON main.quarantine BEGIN ${into} ('quarantined', 0, new.id, NULL); END;
  CREATE TEMP TRIGGER log_item AFTER INSERT ON main.item
    BEGIN ${into} ('item', new.run_id, new.idempotency_key, new.payload); END;
  CREATE TEMP TRIGGER log_paused AFTER UPDATE OF paused ON main.handler
    BEGIN ${into} ('paused', new.paused, '', new.name); END;
  CREATE TEMP TRIGGER log_new_meta AFTER INSERT ON main.meta WHEN new.name = 'paused'
    BEGIN ${into} ('paused', new.value, '', NULL); END;
  CREATE TEMP TRIGGER log_meta AFTER UPDATE ON main.meta WHEN new.name = 'paused'
    BEGIN ${into} ('paused', new.value, '', NULL); END;
  CREATE TEMP TRIGGER log_new_run AFTER INSERT ON main.run BEGIN ${intoRun} END;
  CREATE TEMP TRIGGER log_run AFTER UPDATE OF state, attempt, failed, crashed, token ON main.run BEGIN ${intoRun} END;`

/** What each commit changed, as the database itself tells it: by triggers, whose notes are rolled back with what they note. */
export class Journal {
  readonly #read: () => Row[]
  readonly #clear: () => void
  readonly #nameOf: (id: number) => string

  constructor(db: Database) {
    db.exec(setUp)
    const all = db.prepare<[], Row>('SELECT * FROM temp.change_log ORDER BY n')
    const clear = db.prepare('DELETE FROM temp.change_log')
    const name = db.prepare<[number], { name: string }>('SELECT name FROM handler WHERE id = ?')
    const names = new Map<number, string>()
    this.#read = () => all.all()
    this.#clear = () => void clear.run()
    this.#nameOf = (id) => {
      const found = names.get(id) ?? name.get(id)!.name
      names.set(id, found)
      return found
    }
  }

  /** To be called after a commit: what it changed. */
  take(): Change[] {
    const rows = this.#read()
    if (rows.length === 0) return []
    this.#clear()
    return rows.map((row) => this.#toChange(row))
  }

  #toChange(row: Row): Change {
    switch (row.kind) {
      case 'event':
        return { kind: 'event', seq: row.number, id: row.text }
      case 'quarantined':
        return { kind: 'quarantined', id: row.text }
      case 'paused':
        return { kind: 'paused', handler: row.more, isPaused: row.number === 1 }
      case 'item':
        return { kind: 'item', runId: row.number, idempotencyKey: row.text, payload: row.more ?? '' }
      case 'run': {
        const { number: id, more: key, seq, attempt, failed, crashed, token } = row
        const state = runStates[row.state]!
        return {
          kind: 'run',
          run: { id, seq, handler: this.#nameOf(row.handler), key, state, attempt, failed, crashed, token },
        }
      }
    }
  }
}
