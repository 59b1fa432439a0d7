import type { Database } from 'better-sqlite3'
import type { ReplayFilter } from '../../src/inbox/port.ts'
import { createRouteTable } from '../../src/inbox/routes.ts'
import type { Chronicle, Part, RunStory } from './chronicle.ts'
import { accountOf, itemsOf, sinkName } from './roles.ts'
import type { Sender } from './sender.ts'

/** Checks the database after all deliveries were acknowledged and all runs have ended. */
export function judge(
  chronicle: Chronicle,
  { sender, handlers }: { readonly sender: Sender; readonly handlers: readonly Part[] },
  db: Database,
): void {
  judgeEvents(chronicle, sender, db)
  judgeOrder(chronicle, sender)
  judgePlaces(chronicle, handlers, db)
  judgeReplays(chronicle, handlers, db)
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
    if (seq !== index + 1) chronicle.violate(`P7: event ${index + 1} has the number ${seq}`)
    if (chronicle.events.get(id) !== seq)
      chronicle.violate(`P7: ${id} has the number ${seq}, but was committed with another`)
    if ((raw === null) !== chronicle.pruned.has(seq))
      chronicle.violate(`P1: the body of ${id} is missing without a prune`)
  })
  const isPruned = (id: string) => chronicle.pruned.has(chronicle.events.get(id) ?? 0)
  const raws = new Map([...stored, ...quarantined].map(({ id, raw }) => [id, raw?.toString('hex')]))
  for (const id of raws.keys()) {
    if (!sender.bodies.has(id)) chronicle.violate(`P2: ${id} is stored, but was never sent`)
  }
  for (const { id } of sender.deliveries) {
    if (isPruned(id) || chronicle.prunedBodies.has(id)) continue
    const raw = raws.get(id)
    if (raw === undefined) chronicle.violate(`P1: ${id} was acknowledged and is not stored`)
    else if (!sender.bodies.get(id)?.has(raw)) chronicle.violate(`P1: ${id} is stored with other bytes`)
  }
}

/** P4: an event that was acknowledged before another was sent comes first. */
function judgeOrder(chronicle: Chronicle, { deliveries }: Sender): void {
  for (const { id, behind } of deliveries) {
    for (const earlier of behind) {
      if (chronicle.events.get(earlier)! > chronicle.events.get(id)!)
        chronicle.violate(`P4: ${earlier} was acknowledged before ${id} was sent, but comes after it`)
    }
  }
}

interface EventPlace {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly secretLabel: string
}

const everyEvent = 'SELECT seq, id, type, secret_label AS secretLabel FROM event ORDER BY seq'

/** P3: each handler got each event that it takes. A late handler got the events that were not pruned before. */
function judgePlaces(chronicle: Chronicle, handlers: readonly Part[], db: Database): void {
  const routesOf = createRouteTable(handlers)
  for (const event of db.prepare<[], EventPlace>(everyEvent).all()) {
    const { seq, id } = event
    for (const { name, from } of routesOf(event)) {
      const mayLack = from === 'beginning' && chronicle.pruned.has(seq)
      if (!mayLack && !chronicle.hasRun(seq, name, 0)) chronicle.violate(`P3: ${name} never got ${id}`)
    }
  }
}

/** P3: each replay counted its runs and created all that its filter selects. */
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
    for (const event of events) {
      const { seq, id } = event
      if (seq > lastSeq || chronicle.pruned.has(seq) || (ids !== undefined && !ids.includes(id))) continue
      for (const { name } of routesOf(event)) {
        if (handler !== undefined && handler !== name) continue
        if (!chronicle.hasRun(seq, name, replay)) chronicle.violate(`P3: replay ${replay} skipped ${id} for ${name}`)
      }
    }
  }
}

/** P3: the state of each handler lists exactly its done runs, in commit order. */
function judgeState(chronicle: Chronicle, db: Database): void {
  const ids = new Map([...chronicle.events].map(([id, seq]) => [seq, id]))
  const expected = new Map<string, string[]>()
  for (const runId of chronicle.done) {
    const { row } = chronicle.runs.get(runId)!
    if (row.handler === sinkName) continue
    const place = `${row.handler} ${accountOf(row.key)}`
    const list = expected.get(place) ?? []
    expected.set(place, list)
    list.push(ids.get(row.seq)!)
  }
  const noted = readState(db)
  for (const [place, list] of expected) {
    const found = noted.get(place) ?? []
    if (found.join() !== list.join())
      chronicle.violate(`P3: ${place} contains ${found.join()}, expected ${list.join()}`)
    noted.delete(place)
  }
  for (const place of noted.keys()) chronicle.violate(`P3: ${place} is state without a done run`)
}

/** Lists of event ids by handler and key of the state. */
function readState(db: Database): Map<string, string[]> {
  const rows = db
    .prepare<[], { handler: string; key: string; value: string }>(
      'SELECT h.name AS handler, s.key, s.value FROM state s JOIN handler h ON h.id = s.handler_id',
    )
    .all()
  return new Map(rows.map(({ handler, key, value }) => [`${handler} ${key}`, JSON.parse(value) as string[]]))
}

/** P3: each item of a done run exists once, with its key, and was delivered. */
function judgeItems(chronicle: Chronicle): void {
  const bySource = new Map<number, string[]>()
  for (const [runId, { source, idempotencyKey, deliveries }] of chronicle.items) {
    bySource.set(source.runId, [...(bySource.get(source.runId) ?? []), idempotencyKey])
    const isDropped = chronicle.runs.get(runId)?.row.state === 'dropped'
    if (deliveries === 0 && !isDropped) chronicle.violate(`P3: the item ${idempotencyKey} was never delivered`)
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
