import type { Database } from 'better-sqlite3'
import { replayStates, runStates, type ReplayState, type RunState } from '../../src/inbox/port.ts'

/** A run as a commit left it. */
export interface RunRow {
  readonly id: number
  readonly seq: number
  readonly handler: string
  readonly key: string | null
  /** The id of a replay; 0: it is live. */
  readonly replay: number
  readonly state: RunState
  readonly runAt: number
  readonly attempt: number
  readonly failed: number
  readonly crashed: number
  readonly token: number
}

/** One change of a row, in the order in which the changes were made. */
export type Change =
  | { readonly kind: 'event'; readonly seq: number; readonly id: string }
  | { readonly kind: 'quarantined'; readonly id: string }
  /** Taken out of the quarantine. */
  | { readonly kind: 'released'; readonly id: string }
  | { readonly kind: 'run'; readonly run: RunRow }
  /** A run was deleted. */
  | { readonly kind: 'gone'; readonly runId: number }
  /** The body of an event was deleted. */
  | { readonly kind: 'pruned'; readonly seq: number }
  | { readonly kind: 'replay'; readonly id: number; readonly state: ReplayState; readonly newKeys: boolean }
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
  readonly replay: number
  readonly state: number
  readonly run_at: number
  readonly attempt: number
  readonly failed: number
  readonly crashed: number
  readonly token: number
}

const runColumns = `seq, handler, replay, state, run_at, attempt, failed, crashed, token`
const newRun = `'run', new.id, '', new.key, new.event_seq, new.handler_id, new.replay_id, new.state, new.run_at,
  new.attempt, new.failed, new.crashed, new.token`
const intoRun = `INSERT INTO change_log (kind, number, text, more, ${runColumns}) VALUES (${newRun});`
const newReplay = `VALUES ('replay', new.id, '', NULL, new.state, new.new_keys)`
const intoReplay = `INSERT INTO change_log (kind, number, text, more, state, token) ${newReplay};`
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
  CREATE TEMP TRIGGER log_run AFTER UPDATE ON main.run BEGIN ${intoRun} END;
  CREATE TEMP TRIGGER log_gone AFTER DELETE ON main.run BEGIN ${into} ('gone', old.id, '', NULL); END;
  CREATE TEMP TRIGGER log_pruned AFTER DELETE ON main.body BEGIN ${into} ('pruned', old.seq, '', NULL); END;
  CREATE TEMP TRIGGER log_released AFTER DELETE ON main.quarantine BEGIN ${into} ('released', 0, old.id, NULL); END;
  CREATE TEMP TRIGGER log_new_replay AFTER INSERT ON main.replay BEGIN ${intoReplay} END;
  CREATE TEMP TRIGGER log_replay AFTER UPDATE OF state ON main.replay BEGIN ${intoReplay} END;`

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
      case 'released':
        return { kind: 'released', id: row.text }
      case 'gone':
        return { kind: 'gone', runId: row.number }
      case 'pruned':
        return { kind: 'pruned', seq: row.number }
      case 'replay':
        return { kind: 'replay', id: row.number, state: replayStates[row.state]!, newKeys: row.token === 1 }
      case 'paused':
        return { kind: 'paused', handler: row.more, isPaused: row.number === 1 }
      case 'item':
        return { kind: 'item', runId: row.number, idempotencyKey: row.text, payload: row.more ?? '' }
      case 'run': {
        const { number: id, more: key, seq, replay, run_at: runAt, attempt, failed, crashed, token } = row
        const state = runStates[row.state]!
        const handler = this.#nameOf(row.handler)
        return { kind: 'run', run: { id, seq, handler, key, replay, state, runAt, attempt, failed, crashed, token } }
      }
    }
  }
}
