import type { Database } from 'better-sqlite3'
import type { InboxStats, ReplayFilter } from '../../src/inbox/port.ts'
import { createRouteTable } from '../../src/inbox/routes.ts'
import { nameOf, type Chronicle, type Part, type RunStory } from './chronicle.ts'
import { accountOf, itemsOf, numbersPrefix, sinkName } from './roles.ts'
import type { Sender } from './sender.ts'

const minGapMs = 1_000
const countedStates = ['waiting', 'ready', 'suspect', 'running', 'held', 'dead'] as const

/** Counts what was committed so far; gives what compares that with what the inbox says. */
export function compareCounts(chronicle: Chronicle, handlers: readonly string[]): (stats: InboxStats) => void {
  const expected = handlers.map((handler) => ({
    handler,
    counts: countedStates.map((state) => chronicle.count(handler, state)),
    superseded: chronicle.count(handler, 'superseded'),
  }))
  const [lastSeq, quarantined] = [chronicle.events.size, chronicle.quarantined.size]
  return (stats) => {
    if (stats.lastSeq !== lastSeq || stats.quarantined !== quarantined)
      chronicle.violate(
        `stats: ${stats.lastSeq} events and ${stats.quarantined} in quarantine, not ${lastSeq}, ${quarantined}`,
      )
    for (const { handler, counts, superseded } of expected) {
      const row = stats.handlers.find((candidate) => candidate.handler === handler)
      const told = countedStates.map((state) => row?.[state] ?? 0)
      if (told.join() !== counts.join() || (row?.superseded ?? 0) !== superseded)
        chronicle.violate(
          `stats: ${handler} has ${countedStates.join()},superseded = ${told.join()},${row?.superseded}, ` +
            `not ${counts.join()},${superseded}`,
        )
    }
  }
}

/** Judges what is in the database once everything was acknowledged and worked off. */
export function judge(
  chronicle: Chronicle,
  { sender, handlers }: { readonly sender: Sender; readonly handlers: readonly Part[] },
  db: Database,
): void {
  judgeEvents(chronicle, sender, db)
  judgeOrder(chronicle, sender)
  judgeRuns(chronicle, db)
  judgePlaces(chronicle, handlers, db)
  judgeReplays(chronicle, handlers, db)
  judgeGaps(chronicle, db)
  judgeState(chronicle, db)
  judgeItems(chronicle)
}

/** P1, P2, P7. */
function judgeEvents(chronicle: Chronicle, sender: Sender, db: Database): void {
  const stored = db
    .prepare<[], { seq: number; id: string; raw: Buffer | null }>(
      'SELECT e.seq, e.id, b.raw FROM event e LEFT JOIN body b ON b.seq = e.seq ORDER BY e.seq',
    )
    .all()
  const quarantined = db.prepare<[], { id: string; raw: Buffer }>('SELECT id, raw FROM quarantine').all()
  stored.forEach(({ seq, id, raw }, index) => {
    if (seq !== index + 1) chronicle.violate(`P7: the event at place ${index + 1} has the number ${seq}`)
    if (chronicle.events.get(id) !== seq) chronicle.violate(`P7: ${id} has the number ${seq}, but got another`)
    if ((raw === null) !== chronicle.pruned.has(seq)) chronicle.violate(`P1: the body of ${id} went by itself`)
  })
  const isPruned = (id: string) => chronicle.pruned.has(chronicle.events.get(id) ?? 0)
  const raws = new Map([...stored, ...quarantined].map(({ id, raw }) => [id, raw?.toString('hex')]))
  for (const id of raws.keys()) {
    if (!sender.bodies.has(id)) chronicle.violate(`P2: ${id} is stored, but nobody sent it`)
  }
  for (const { id } of sender.deliveries) {
    if (isPruned(id) || chronicle.released.has(id)) continue
    const raw = raws.get(id)
    if (raw === undefined) chronicle.violate(`P1: ${id} was acknowledged and is not stored`)
    else if (!sender.bodies.get(id)?.has(raw)) chronicle.violate(`P1: ${id} is stored with other bytes`)
  }
}

/** P4, as the sender sees it. */
function judgeOrder(chronicle: Chronicle, { deliveries }: Sender): void {
  for (const { id, behind } of deliveries) {
    for (const earlier of behind) {
      if (chronicle.events.get(earlier)! > chronicle.events.get(id)!)
        chronicle.violate(`P4: ${earlier} was acknowledged before ${id} was sent, but is behind it`)
    }
  }
}

/** P7: what was committed is what is there, and all of it came to an end. */
function judgeRuns(chronicle: Chronicle, db: Database): void {
  const rows = db
    .prepare<[], { id: number; attempt: number; token: number }>('SELECT id, attempt, token FROM run')
    .all()
  const kept = [...chronicle.runs.values()].filter(({ isGone }) => !isGone)
  if (rows.length !== kept.length) chronicle.violate(`P7: there are ${rows.length} runs, not ${kept.length}`)
  for (const story of kept) {
    if (chronicle.pruned.has(story.row.seq)) chronicle.violate(`P7: ${nameOf(story)} is there, but its event is pruned`)
  }
  for (const { id, attempt, token } of rows) {
    const { row } = chronicle.runs.get(id)!
    if (row.attempt !== attempt || row.token !== token) chronicle.violate(`P7: run ${id} was changed by no commit`)
  }
}

interface EventPlace {
  readonly seq: number
  readonly id: string
  readonly type: string
}

const everyEvent = 'SELECT seq, id, type FROM event ORDER BY seq'

/** P3: each handler got each event that it takes; one that came late, what was not pruned by then, unless its open runs were dropped. */
function judgePlaces(chronicle: Chronicle, handlers: readonly Part[], db: Database): void {
  const routesOf = createRouteTable(handlers)
  for (const { seq, id, type } of db.prepare<[], EventPlace>(everyEvent).all()) {
    for (const { name, from } of routesOf(type)) {
      const mayLack = from === 'beginning' && (chronicle.pruned.has(seq) || chronicle.dropped.has(name))
      if (!mayLack && !chronicle.hasRun(seq, name, 0)) chronicle.violate(`P3: ${name} never got ${id}`)
    }
  }
}

/** P3: each replay counts its runs, and has all that it should by its events and its handler. */
function judgeReplays(chronicle: Chronicle, handlers: readonly Part[], db: Database): void {
  const routesOf = createRouteTable(handlers.filter(({ from }) => from !== 'beginning'))
  const events = db.prepare<[], EventPlace>(everyEvent).all()
  const rows = db
    .prepare<[], { id: number; filter: string; lastSeq: number; runs: number }>(
      'SELECT id, filter, last_seq AS lastSeq, runs FROM replay',
    )
    .all()
  for (const { id: replay, filter, lastSeq, runs } of rows) {
    const created = [...chronicle.runs.values()].filter(
      ({ row, part }) => row.replay === replay && part.types.length > 0,
    )
    if (created.length !== runs) chronicle.violate(`P7: replay ${replay} created ${created.length} runs, not ${runs}`)
    const { ids, handler, status, from } = JSON.parse(filter) as ReplayFilter
    if (chronicle.replays.get(replay)?.state !== 'done' || status !== undefined || from !== undefined) continue
    for (const { seq, id, type } of events) {
      if (seq > lastSeq || chronicle.pruned.has(seq) || (ids !== undefined && !ids.includes(id))) continue
      for (const { name } of routesOf(type)) {
        if (handler !== undefined && handler !== name) continue
        if (!chronicle.hasRun(seq, name, replay)) chronicle.violate(`P3: replay ${replay} left out ${id} for ${name}`)
      }
    }
  }
}

/** A gap is not shorter than it must be, and knows of no more events than there are. */
function judgeGaps(chronicle: Chronicle, db: Database): void {
  const gaps = db
    .prepare<[], { from_at: number; to_at: number; arrived: number; last_arrival_at: number | null }>(
      'SELECT * FROM gap',
    )
    .all()
  for (const { from_at: from, to_at: to, arrived, last_arrival_at: last } of gaps) {
    if (to - from < minGapMs) chronicle.violate(`gaps: one of ${to - from} ms is none`)
    const isCounted = arrived > 0 === (last !== null) && arrived <= chronicle.events.size
    if (!isCounted) chronicle.violate(`gaps: ${arrived} of ${chronicle.events.size} events came, the last at ${last}`)
  }
}

/** P3: what handlers noted in their state, in the order of their commits, is exactly what was done. */
function judgeState(chronicle: Chronicle, db: Database): void {
  const ids = new Map([...chronicle.events].map(([id, seq]) => [seq, id]))
  const expected = new Map<string, string[]>()
  for (const runId of chronicle.done) {
    const { row } = chronicle.runs.get(runId)!
    if (row.handler === sinkName) continue
    const place = `${row.handler} ${accountOf(row.handler, row.key)}`
    const list = expected.get(place) ?? []
    expected.set(place, list)
    list.push(ids.get(row.seq)!)
  }
  const noted = readState(db)
  for (const [place, list] of expected) {
    const found = noted.get(place) ?? []
    if (found.join() !== list.join()) chronicle.violate(`P3: ${place} says ${found.join()}, done was ${list.join()}`)
    noted.delete(place)
  }
  for (const place of noted.keys()) chronicle.violate(`P3: ${place} is the state of nothing that was done`)
}

/** Lists of event ids by handler and key of the state; of numbered entries one list. */
function readState(db: Database): Map<string, string[]> {
  const noted = new Map<string, string[]>()
  const rows = db
    .prepare<[], { handler: string; key: string; value: string }>(
      'SELECT h.name AS handler, s.key, s.value FROM state s JOIN handler h ON h.id = s.handler_id ORDER BY h.name, s.key',
    )
    .all()
  for (const { handler, key, value } of rows) {
    const isNumber = key.startsWith(numbersPrefix)
    const place = `${handler} ${isNumber ? numbersPrefix : key}`
    const found = JSON.parse(value) as string | string[]
    noted.set(place, typeof found === 'string' ? [...(noted.get(place) ?? []), found] : found)
  }
  return noted
}

/** P3: each item of what was done is there once, under its key, and was passed on. */
function judgeItems(chronicle: Chronicle): void {
  const bySource = new Map<number, string[]>()
  for (const [runId, { source, idempotencyKey, deliveries }] of chronicle.items) {
    bySource.set(source.runId, [...(bySource.get(source.runId) ?? []), idempotencyKey])
    const isDropped = chronicle.runs.get(runId)?.row.state === 'dropped'
    if (deliveries === 0 && !isDropped) chronicle.violate(`P3: the item ${idempotencyKey} was never passed on`)
  }
  const ids = new Map([...chronicle.events].map(([id, seq]) => [seq, id]))
  for (const story of chronicle.runs.values()) {
    const expected = expectedItems(chronicle, story, ids)
    const found = bySource.get(story.row.id) ?? []
    if (found.join() !== expected.join())
      chronicle.violate(`P3: run ${story.row.id} left the items ${found.join()}, expected ${expected.join()}`)
  }
}

function expectedItems(chronicle: Chronicle, { row }: RunStory, ids: ReadonlyMap<number, string>): string[] {
  const id = ids.get(row.seq)!
  const count = row.state === 'done' && row.handler !== sinkName ? itemsOf(row.handler, id) : 0
  const generation = chronicle.replays.get(row.replay)?.newKeys ? `:replay-${row.replay}` : ''
  return Array.from({ length: count }, (_, index) => `${row.handler}:${id}${generation}:${index}`)
}
