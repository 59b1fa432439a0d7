import type { HandlerRoute } from '../port.ts'
import { createRouteTable, type RoutedEvent, type RouteTable } from '../routes.ts'
import type { Undo } from './writer-counters.ts'
import type { Statements } from './statements.ts'

/** All handlers that were ever registered, and the routes of the handlers that are registered now. */
export class HandlerTable {
  readonly #sql: Statements
  readonly #undo: Undo
  readonly #names = new Map<number, string>()
  readonly #ids = new Map<string, number>()
  readonly #paused = new Set<number>()
  /** Handlers whose dead letters block their keys. */
  readonly #holding = new Set<number>()
  #allPaused: boolean
  /** Handlers with a backfill in progress: new events create no runs of them until it has ended. */
  readonly #backfilling = new Set<number>()
  #routes: ReadonlyMap<number, HandlerRoute> = new Map()
  #routesOf: RouteTable = () => []
  #isRegistered = false

  constructor(sql: Statements, undo: Undo) {
    this.#sql = sql
    this.#undo = undo
    this.#allPaused = sql.meta.get('paused')?.value === 1
    for (const row of sql.handlers.all()) {
      this.#remember(row.id, row.name)
      if (row.paused === 1) this.#paused.add(row.id)
      if (row.holds === 1) this.#holding.add(row.id)
      if (row.backfillSeq !== null) this.#backfilling.add(row.id)
    }
  }

  /** True once handlers were registered since the start. */
  get isRegistered(): boolean {
    return this.#isRegistered
  }

  idOf(name: string): number | undefined {
    return this.#ids.get(name)
  }

  nameOf(id: number): string {
    return this.#names.get(id) ?? ''
  }

  ids(): number[] {
    return [...this.#names.keys()]
  }

  /** Undefined for a handler that is not registered now. */
  routeOf(id: number): HandlerRoute | undefined {
    return this.#routes.get(id)
  }

  /** Routes of the registered handlers that take an event. */
  routesOf(event: RoutedEvent): readonly HandlerRoute[] {
    return this.#routesOf(event)
  }

  takes(route: HandlerRoute, event: RoutedEvent): boolean {
    return this.#routesOf(event).includes(route)
  }

  isBackfilling(id: number): boolean {
    return this.#backfilling.has(id)
  }

  /** Registered handlers with a backfill in progress. */
  backfilling(): number[] {
    return [...this.#backfilling].filter((id) => this.#routes.has(id))
  }

  endBackfill(id: number): void {
    this.#sql.advanceBackfill.run(null, id)
    this.#setFlag(this.#backfilling, id, false)
  }

  holds(id: number): boolean {
    return this.#holding.has(id)
  }

  isLatestOnly(id: number): boolean {
    return this.#routes.get(id)?.latestOnly ?? false
  }

  isPaused(id: number): boolean {
    return this.#allPaused || this.#paused.has(id)
  }

  register(routes: readonly HandlerRoute[]): void {
    const [before, routesOf] = [this.#routes, this.#routesOf]
    this.#undo.note(() => {
      this.#routes = before
      this.#routesOf = routesOf
    })
    for (const { name, onDead = 'skip', from = 'now' } of routes) {
      if (from !== 'now' && !this.#ids.has(name)) this.#startBackfill(this.ensure(name), from)
      this.#setHolds(this.ensure(name), onDead === 'hold')
    }
    this.#routes = new Map(routes.map((route) => [this.ensure(route.name), route]))
    this.#routesOf = createRouteTable(routes)
    this.#isRegistered = true
  }

  /** Returns the id of a handler; creates one for a new name. */
  ensure(name: string): number {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const id = Number(this.#sql.insertHandler.run(name).lastInsertRowid)
    this.#remember(id, name)
    this.#undo.note(() => {
      this.#ids.delete(name)
      this.#names.delete(id)
    })
    return id
  }

  pauseAll(paused: boolean): void {
    const before = this.#allPaused
    this.#undo.note(() => (this.#allPaused = before))
    this.#sql.setMeta.run('paused', paused ? 1 : 0)
    this.#allPaused = paused
  }

  pause(id: number, paused: boolean): void {
    this.#sql.pauseHandler.run(paused ? 1 : 0, id)
    this.#setFlag(this.#paused, id, paused)
  }

  #startBackfill(id: number, from: 'beginning' | number): void {
    this.#sql.startBackfill.run(from === 'beginning' ? 0 : from, id)
    this.#setFlag(this.#backfilling, id, true)
  }

  /** Stored in the file, because crashed runs are reaped before handlers are registered. */
  #setHolds(id: number, holds: boolean): void {
    if (this.#holding.has(id) === holds) return
    this.#sql.setHolds.run(holds ? 1 : 0, id)
    this.#setFlag(this.#holding, id, holds)
  }

  #setFlag(ids: Set<number>, id: number, isSet: boolean): void {
    const wasSet = ids.has(id)
    const set = (value: boolean) => void (value ? ids.add(id) : ids.delete(id))
    this.#undo.note(() => set(wasSet))
    set(isSet)
  }

  #remember(id: number, name: string): void {
    this.#names.set(id, name)
    this.#ids.set(name, id)
  }
}
