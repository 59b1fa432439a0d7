import type { Database } from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { openMemoryStore, type OpenStore } from '../../src/inbox/sqlite/open.ts'
import { hiddenParameter, statementTexts } from '../../src/inbox/sqlite/statements.ts'
import { anEvent, boom, ordered } from '../conformance/stage.ts'

type Name = keyof typeof statementTexts

/** What the planner must say of each statement; statements with nothing to look up have an empty plan. */
const plans: Readonly<Record<Name, readonly string[]>> = {
  insertEvent: [],
  addTally: [],
  addHour: [],
  addSecretUse: [],
  pruneTallies: ['SEARCH tally USING PRIMARY KEY (minute<?)', 'SCALAR SUBQUERY 1', 'SEARCH tally USING PRIMARY KEY'],
  headerSets: ['SCAN header_set'],
  insertHeaderSet: [],
  setHeaderSet: ['SEARCH event USING INTEGER PRIMARY KEY (rowid=?)'],
  insertBody: [],
  lastBody: ['SCAN body'],
  bodyOf: ['SEARCH e USING COVERING INDEX event_id (id=?)', 'SEARCH b USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN'],
  countRedelivery: [],
  countConflict: ['SCALAR SUBQUERY 1', 'SEARCH event USING COVERING INDEX event_id (id=?)'],
  insertQuarantined: [],
  lastQuarantined: ['SCAN quarantine'],
  oldQuarantined: ['SEARCH quarantine USING INTEGER PRIMARY KEY (rowid>?)'],
  pruneQuarantined: ['SEARCH quarantine USING INTEGER PRIMARY KEY (rowid=?)'],
  insertRun: [],
  openOfKey: ['SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=? AND key=?)'],
  claimable: [
    'SEARCH r USING INDEX run_claimable (state=? AND handler_id=? AND replay_id=? AND run_at<?)',
    'SEARCH e USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
    'SEARCH b USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
    'SEARCH i USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN',
  ],
  nextDue: ['SEARCH run USING COVERING INDEX run_claimable (state=? AND handler_id=? AND replay_id=?)'],
  nextGeneration: ['SEARCH run USING COVERING INDEX run_claimable (state=? AND handler_id=? AND replay_id>?)'],
  startBackfill: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  backfill: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  moveBackfill: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  eventsFrom: ['SEARCH event USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
  eventById: ['SEARCH event USING INDEX event_id (id=?)'],
  rawOf: ['SEARCH body USING INTEGER PRIMARY KEY (rowid=?)'],
  hasBody: ['SEARCH body USING INTEGER PRIMARY KEY (rowid=?)'],
  progressOf: ['SEARCH run USING INDEX run_event (event_seq=?)'],
  openCount: ['SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=?)'],
  readyCount: [
    'CO-ROUTINE (subquery-1)',
    'SEARCH run USING COVERING INDEX run_claimable (state=? AND handler_id=? AND replay_id=?)',
    'SCAN (subquery-1)',
  ],
  insertReplay: [],
  replayRow: ['SEARCH replay USING INTEGER PRIMARY KEY (rowid=?)'],
  runningReplays: ['SCAN replay USING INDEX replay_running'],
  moveReplay: ['SEARCH replay USING INTEGER PRIMARY KEY (rowid=?)'],
  endReplay: ['SEARCH replay USING INTEGER PRIMARY KEY (rowid=?)'],
  waitingOfReplay: [
    'SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=?)',
    'CORRELATED SCALAR SUBQUERY 1',
    'SEARCH item USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  eventsWithBody: ['SEARCH b USING INTEGER PRIMARY KEY (rowid>?)', 'SEARCH e USING INTEGER PRIMARY KEY (rowid=?)'],
  unfinishedRun: ['SEARCH run USING INDEX run_event (event_seq=?)'],
  finalStatus: ['SEARCH event USING INTEGER PRIMARY KEY (rowid=?)'],
  deleteItems: [
    'SEARCH item USING INTEGER PRIMARY KEY (rowid=?)',
    'LIST SUBQUERY 1',
    'SEARCH run USING COVERING INDEX run_event (event_seq=?)',
  ],
  deleteAttempts: [
    'SEARCH attempt USING COVERING INDEX attempt_run (run_id=?)',
    'LIST SUBQUERY 1',
    'SEARCH run USING COVERING INDEX run_event (event_seq=?)',
  ],
  deleteRuns: ['SEARCH run USING INDEX run_event (event_seq=?)'],
  emptyConflicts: ['SEARCH conflict USING PRIMARY KEY (event_seq=?)'],
  deleteBody: ['SEARCH body USING INTEGER PRIMARY KEY (rowid=?)'],
  openOfHandler: ['SEARCH run USING COVERING INDEX run_open (handler_id=?)'],
  place: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  deleteQuarantined: ['SEARCH quarantine USING INDEX sqlite_autoindex_quarantine_1 (id=?)'],
  setConcurrency: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  lastReceived: ['SCAN event'],
  insertGap: [],
  gaps: ['SCAN gap', 'USE TEMP B-TREE FOR ORDER BY'],
  outages: ['SCAN gap'],
  firstRetried: ['SEARCH gap'],
  countArrivals: ['SEARCH gap USING INTEGER PRIMARY KEY (rowid=?)'],
  acknowledgeGaps: ['SCAN gap'],
  deleteGaps: ['SEARCH gap USING INTEGER PRIMARY KEY (rowid<?)', 'SCALAR SUBQUERY 1', 'SEARCH gap'],
  setConcurrencies: ['SCAN handler'],
  newestSubscription: ['SCAN subscription'],
  insertSubscription: [],
  endSubscription: ['SEARCH subscription USING INTEGER PRIMARY KEY (rowid=?)'],
  insertAudit: [],
  setAuditDetail: ['SEARCH audit USING INTEGER PRIMARY KEY (rowid=?)'],
  dropRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  dropUntried: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  claimableCount: ['SEARCH run USING COVERING INDEX run_claimable (state>? AND state<?)'],
  allOpenOfKey: ['SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=? AND key=?)'],
  newestOfKey: ['SEARCH run USING COVERING INDEX run_open (handler_id=? AND replay_id=? AND key=?)'],
  isItem: ['SEARCH item USING INTEGER PRIMARY KEY (rowid=?)'],
  heldCount: ['SCAN run USING COVERING INDEX run_dead'],
  snoozeRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  endUntried: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  supersede: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  supersedeUntried: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  countSuperseded: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  setHolds: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  claimRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  finishRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  retryRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  readyRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  releaseRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  shiftOpenRuns: ['SCAN run USING INDEX run_open'],
  pauseHandler: ['SEARCH handler USING INTEGER PRIMARY KEY (rowid=?)'],
  meta: ['SEARCH meta USING PRIMARY KEY (name=?)'],
  suspectRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  dieRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  crashedOutRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  startOf: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  running: ['SCAN run USING INDEX run_open'],
  eventIdOf: [
    'SEARCH event USING INTEGER PRIMARY KEY (rowid=?)',
    'SCALAR SUBQUERY 1',
    'SEARCH run USING INTEGER PRIMARY KEY (rowid=?)',
  ],
  deadAfter: ['SEARCH run USING COVERING INDEX run_dead (id>?)'],
  deadRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  requeueRun: ['SEARCH run USING INTEGER PRIMARY KEY (rowid=?)'],
  maxRunId: ['SCAN run'],
  insertAttempt: [],
  insertItem: [],
  stateOf: ['SEARCH state USING PRIMARY KEY (handler_id=? AND key=?)'],
  stateBetween: ['SEARCH state USING PRIMARY KEY (handler_id=? AND key>? AND key<?)'],
  putState: [],
  deleteState: ['SEARCH state USING PRIMARY KEY (handler_id=? AND key=?)'],
  expiredState: ['SEARCH state USING COVERING INDEX state_expiry (expires_at>? AND expires_at<?)'],
  handlers: ['SCAN handler'],
  insertHandler: [],
  setMeta: [],
}

const distinctKeys = 100_000
const names = Object.keys(statementTexts) as Name[]

function planOf(db: Database, text: string): string[] {
  const parameters = Array.from(text.matchAll(/\?/g), () => 1)
  const rows = db.prepare<number[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...parameters)
  return rows.map((row) => row.detail)
}

let open: OpenStore

beforeAll(async () => {
  open = await openMemoryStore({ clock: createTestClock() })
})

afterAll(() => open.close())

function fill(): void {
  const { store } = open
  const claim = { handlers: ['ordered'], max: 1_000, owner: 'worker', suspects: false, leases: [], bytes: 0 }
  store.transact([claim], () => {
    store.register([ordered])
    for (let n = 0; n < distinctKeys; n += 1) store.accept([anEvent(`e${n}`, { key: `solana:${n}` })])
  })
  const verdict = { token: 1, startedAt: 1, endedAt: 2, error: boom }
  const outcomes = Array.from({ length: 500 }, (_, n) => ({ ...verdict, runId: n + 1, kind: 'dead' as const }))
  store.transact([], () => store.settle(outcomes))
}

describe.each([
  ['on an empty database', () => {}],
  [`with ${distinctKeys} runs of distinct keys`, fill],
  ['with statistics of them', () => void open.db.exec('ANALYZE')],
])('the planner %s', (_, prepare) => {
  beforeAll(prepare)

  test.each(names)('runs %s by the index that is meant', (name) => {
    expect(planOf(open.db, statementTexts[name])).toEqual(plans[name])
  })
})

describe('the statements', () => {
  test('name an index wherever they read more than one row of a large table', () => {
    const large = /\b(?:FROM|JOIN) (?:event|run|body)\b/
    const byRowid = /WHERE (?:[be]\.)?(?:id|seq) (?:=|>=?) \?|ORDER BY (?:id|seq) DESC LIMIT 1/
    const without = names.filter((name) => {
      const text = statementTexts[name].replaceAll(hiddenParameter, '?')
      return large.test(text) && !text.includes('INDEXED BY') && !byRowid.test(text)
    })
    expect(without).toEqual([])
  })

  test('are all there is: no statement is without an expected plan', () => {
    expect(Object.keys(plans).toSorted()).toEqual(names.toSorted())
  })
})
