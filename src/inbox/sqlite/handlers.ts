import type { HandlerRoute } from '../port.ts'
import { createRouteTable, type RouteTable } from '../routes.ts'
import type { Undo } from './memo.ts'
import type { Statements } from './statements.ts'

/** The handlers that were ever registered: their ids, what is known of each, and which events the present ones take. */
export class HandlerTable {
  readonly #sql: Statements
  readonly #undo: Undo
  readonly #names = new Map<number, string>()
  readonly #ids = new Map<string, number>()
  readonly #paused = new Set<number>()
  /** Whose dead letters hold up their keys. */
  readonly #holding = new Set<number>()
  #allPaused: boolean
  #latestOnly: ReadonlySet<number> = new Set()
  #routesOf: RouteTable = () => []

  constructor(sql: Statements, undo: Undo) {
    this.#sql = sql
    this.#undo = undo
    this.#allPaused = sql.meta.get('paused')?.value === 1
    for (const row of sql.handlers.all()) {
      this.#remember(row.id, row.name)
      if (row.paused === 1) this.#paused.add(row.id)
      if (row.holds === 1) this.#holding.add(row.id)
    }
  }

  idOf(name: string): number | undefined {
    return this.#ids.get(name)
  }

  ids(): Iterable<number> {
    return this.#names.keys()
  }

  /** The routes of the registered handlers that take a type. */
  routesOf(type: string): readonly HandlerRoute[] {
    return this.#routesOf(type)
  }

  holds(id: number): boolean {
    return this.#holding.has(id)
  }

  isLatestOnly(id: number): boolean {
    return this.#latestOnly.has(id)
  }

  isPaused(id: number): boolean {
    return this.#allPaused || this.#paused.has(id)
  }

  register(routes: readonly HandlerRoute[]): void {
    for (const { name, onDead = 'skip' } of routes) this.#setHolds(this.ensure(name), onDead === 'hold')
    const [latestOnly, routesOf] = [this.#latestOnly, this.#routesOf]
    this.#undo.note(() => {
      this.#latestOnly = latestOnly
      this.#routesOf = routesOf
    })
    this.#latestOnly = new Set(routes.filter((route) => route.latestOnly).map(({ name }) => this.ensure(name)))
    this.#routesOf = createRouteTable(routes)
  }

  /** The id of a handler, which it gets when it is first heard of. */
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
    this.#flag(this.#paused, id, paused)
  }

  /** It is kept in the file, because runs are found to have crashed before the handlers are registered. */
  #setHolds(id: number, holds: boolean): void {
    if (this.#holding.has(id) === holds) return
    this.#sql.setHolds.run(holds ? 1 : 0, id)
    this.#flag(this.#holding, id, holds)
  }

  #flag(flagged: Set<number>, id: number, on: boolean): void {
    const was = flagged.has(id)
    const set = (to: boolean) => void (to ? flagged.add(id) : flagged.delete(id))
    this.#undo.note(() => set(was))
    set(on)
  }

  #remember(id: number, name: string): void {
    this.#names.set(id, name)
    this.#ids.set(name, id)
  }
}
