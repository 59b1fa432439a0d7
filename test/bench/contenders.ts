import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A measured configuration of the product: its handlers and the events it receives. */
export interface Contender {
  readonly name: string
  /** Source of the handlers by file name. */
  readonly handlers: Readonly<Record<string, string>>
  /** True: the measurement ends when every run and outbox item is done. False: at the last response. */
  readonly isUntilDone: boolean
  /** Number of wallets. Events go through them in turn, so it is the number of ordering keys. */
  readonly keys: number
  /** True: a console is open during the load. */
  readonly isWatched?: true
}

const define = (rest: string) =>
  `import { defineHandler } from 'onchain-inbox'\nexport default defineHandler({ type: '*', ${rest} })\n`

const sink = `import { defineSink } from 'onchain-inbox'\nexport default defineSink({ send() {} })\n`

const count = `const key = event.data.wallet_address; ctx.state.set(key, ((await ctx.state.get(key)) ?? 0) + 1)`
const enqueue = `ctx.enqueue('sink', { id: event.id })`

export const noop = define('run() {}')

const fewKeys = 2_000

export const stored: Contender = { name: 'stored', handlers: {}, isUntilDone: false, keys: fewKeys }

/** The default: runs of a key in order. */
export const handled: Contender = {
  name: 'stored and handled',
  handlers: { handler: noop },
  isUntilDone: true,
  keys: fewKeys,
}

export const watched: Contender = { ...handled, name: 'handled, console open', isWatched: true }

export const unordered: Contender = {
  ...handled,
  name: 'handled in no order',
  handlers: { handler: define(`order: 'none', run() {}`) },
}

export const manyKeys: Contender = { ...handled, name: 'handled, 100,000 keys', keys: 100_000 }

export const state: Contender = {
  ...handled,
  name: 'state',
  handlers: { handler: define(`async run(event, ctx) { ${count} }`) },
}

export const outbox: Contender = {
  ...handled,
  name: 'outbox',
  handlers: { handler: define(`run(event, ctx) { ${enqueue} }`), sink },
}

export const stateAndOutbox: Contender = {
  ...handled,
  name: 'state and outbox',
  handlers: { handler: define(`async run(event, ctx) { ${count}; ${enqueue} }`), sink },
}

/** Writes handlers into a new folder and returns its path. */
export function writeHandlers(folder: string, handlers: Readonly<Record<string, string>>): string {
  mkdirSync(folder)
  for (const [name, source] of Object.entries(handlers)) writeFileSync(join(folder, `${name}.ts`), source)
  return folder
}
