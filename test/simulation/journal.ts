import type { Database } from 'better-sqlite3'
import { replayStates, runStates, type ReplayState, type RunState } from '../../src/inbox/port.ts'

/** A committed run. */
export interface RunRow {
  readonly id: number
  readonly seq: number
  readonly handler: string
  readonly key: string | null
  /** Id of its replay; 0 for a live run. */
  readonly replay: number
  readonly state: RunState
  readonly attempt: number
  readonly crashed: number
  readonly token: number
}

/** One changed row. `gone`: a run was deleted. `pruned`: the body of an event was deleted. `prunedBody`: from quarantine. */
export type Change =
  | { readonly kind: 'event'; readonly seq: number; readonly id: string }
  | { readonly kind: 'quarantined'; readonly id: string }
  | { readonly kind: 'run'; readonly run: RunRow }
  | { readonly kind: 'gone'; readonly runId: number }
  | { readonly kind: 'pruned'; readonly seq: number }
  | { readonly kind: 'prunedBody'; readonly id: string }
  | { readonly kind: 'replay'; readonly id: number; readonly state: ReplayState; readonly newKeys: boolean }
  | { readonly kind: 'item'; readonly runId: number; readonly idempotencyKey: string; readonly payload: string }

interface Row {
  readonly kind: Change['kind']
  readonly number: number
  readonly text: string
  readonly more: string | null
  readonly seq: number
  readonly handler: string
  readonly replay: number
  readonly state: number
  readonly attempt: number
  readonly crashed: number
  readonly token: number
}

const runColumns = `seq, handler, replay, state, attempt, crashed, token`
const newRun = `INSERT INTO change_log (kind, number, text, more, ${runColumns})
  VALUES ('run', new.id, '', new.key, new.event_seq, new.handler_id, new.replay_id, new.state, new.attempt, new.crashed, new.token);`
const newReplay = `INSERT INTO change_log (kind, number, text, more, state, token)
  VALUES ('replay', new.id, '', NULL, new.state, new.new_keys);`
const into = `INSERT INTO change_log (kind, number, text, more) VALUES`

const setUp = `
  CREATE TEMP TABLE change_log (n INTEGER PRIMARY KEY, kind, number, text, more, ${runColumns});
  CREATE TEMP TRIGGER log_event AFTER INSERT ON main.event BEGIN ${into} ('event', new.seq, new.id, NULL); END;
  CREATE TEMP TRIGGER log_quarantined AFTER INSERT ON main.quarantine BEGIN ${into} ('quarantined', 0, new.id, NULL); END;
  CREATE TEMP TRIGGER log_item AFTER INSERT ON main.item
    BEGIN ${into} ('item', new.run_id, new.idempotency_key, new.payload); END;
  CREATE TEMP TRIGGER log_new_run AFTER INSERT ON main.run BEGIN ${newRun} END;
  CREATE TEMP TRIGGER log_run AFTER UPDATE ON main.run BEGIN ${newRun} END;
  CREATE TEMP TRIGGER log_gone AFTER DELETE ON main.run BEGIN ${into} ('gone', old.id, '', NULL); END;
  CREATE TEMP TRIGGER log_pruned AFTER DELETE ON main.body BEGIN ${into} ('pruned', old.seq, '', NULL); END;
  CREATE TEMP TRIGGER log_body AFTER DELETE ON main.quarantine BEGIN ${into} ('prunedBody', 0, old.id, NULL); END;
  CREATE TEMP TRIGGER log_new_replay AFTER INSERT ON main.replay BEGIN ${newReplay} END;
  CREATE TEMP TRIGGER log_replay AFTER UPDATE OF state ON main.replay BEGIN ${newReplay} END;`

const changes = `SELECT kind, number, text, more, seq, (SELECT name FROM handler WHERE id = handler) AS handler, replay, state,
  attempt, crashed, token FROM temp.change_log ORDER BY n`

/** Returns a function to call after each commit: it returns the committed changes. Triggers write them, so a rollback undoes them. */
export function openJournal(db: Database): () => Change[] {
  db.exec(setUp)
  const all = db.prepare<[], Row>(changes)
  const clear = db.prepare('DELETE FROM temp.change_log')
  return () => {
    const rows = all.all()
    if (rows.length > 0) clear.run()
    return rows.map(toChange)
  }
}

function toChange({ kind, number, text, more, seq, handler, replay, state, attempt, crashed, token }: Row): Change {
  switch (kind) {
    case 'event':
      return { kind, seq: number, id: text }
    case 'quarantined':
    case 'prunedBody':
      return { kind, id: text }
    case 'gone':
      return { kind, runId: number }
    case 'pruned':
      return { kind, seq: number }
    case 'replay':
      return { kind, id: number, state: replayStates[state]!, newKeys: token === 1 }
    case 'item':
      return { kind, runId: number, idempotencyKey: text, payload: more ?? '' }
    case 'run': {
      const run = { id: number, seq, handler, key: more, replay, state: runStates[state]!, attempt, crashed, token }
      return { kind, run }
    }
  }
}
