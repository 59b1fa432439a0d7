import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { internalLabel, type Inbox } from '../../src/inbox/port.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { digestOf } from './history.ts'

/** An event as it was found in a store. */
export interface StoredCopy {
  readonly id: string
  /** Of its body; null: that was pruned. */
  readonly digest: string | null
  /** Place in the accept sequence, without what the inbox itself put there. */
  readonly seq: number
}

/** What the store itself says of the work of one handler on one event. */
export interface WorkRecord {
  readonly id: string
  readonly handler: string
  readonly state: string
  /** Attempts that were counted. */
  readonly attempt: number
  /** How many of them ended with their process. */
  readonly crashed: number
}

export interface Ledger {
  readonly stored: readonly StoredCopy[]
  readonly work: readonly WorkRecord[]
  readonly missingSeqs: number
}

/** Reads all that is in a database file, by the product's own inbox; no process may hold the file. */
export async function readLedger(databaseFile: string): Promise<Ledger> {
  return readInbox(await createSqliteInbox({ file: databaseFile }))
}

/** Reads all that is in an inbox, and closes it. */
export async function readInbox(inbox: Inbox): Promise<Ledger> {
  try {
    const stored: StoredCopy[] = []
    /** What the inbox itself had to say was sent by nobody. */
    const ownSeqs: number[] = []
    const work: WorkRecord[] = []
    let cursor: string | null = null
    do {
      const page = await inbox.events({ limit: 200, ...(cursor !== null && { cursor }) })
      const details = await Promise.all(page.data.map(({ id }) => inbox.event(id)))
      for (const detail of details) {
        if (detail === null) continue
        const { id, seq, raw } = detail
        if (detail.secretLabel === internalLabel) {
          ownSeqs.push(seq)
          continue
        }
        stored.push({ id, seq, digest: raw.length === 0 ? null : digestOf(raw) })
        for (const { handler, state, attempt, attempts } of detail.runs) {
          const crashed = attempts.filter(({ outcome }) => outcome === 'crashed').length
          work.push({ id, handler, state, attempt, crashed })
        }
      }
      cursor = page.nextCursor
    } while (cursor !== null)
    const { missingSeqs } = await inbox.stats()
    const placeOf = (seq: number) => seq - ownSeqs.filter((own) => own < seq).length
    const sent = stored.map((copy) => ({ ...copy, seq: placeOf(copy.seq) }))
    return { stored: sent.toReversed(), work, missingSeqs }
  } finally {
    await inbox.close()
  }
}

/** One line that a handler wrote, in the order in which they were written. */
export interface Effect {
  readonly id: string
  readonly attempt: number
  readonly pid: number
  /** Every attempt writes a line when it begins, and one when it is through. */
  readonly step: 'begin' | 'end'
}

/** Source of a handler for every type that leaves its traces in the file EFFECTS names, and takes up to `busyMs`. */
export function effectsHandler(options: { readonly busyMs?: number; readonly concurrency?: number } = {}): string {
  const { busyMs = 0, concurrency = 8 } = options
  return `
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'

const write = (event, ctx, step) =>
  appendFileSync(process.env.EFFECTS, \`\${event.id} \${ctx.attempt} \${process.pid} \${step}\\n\`, { flag: 'a' })

export default defineHandler({
  type: '*',
  concurrency: ${concurrency},
  async run(event, ctx) {
    write(event, ctx, 'begin')
    if (${busyMs} > 0) await wait(Math.random() * ${busyMs})
    write(event, ctx, 'end')
  },
})
`
}

/** None if nothing has written there. */
export async function readEffects(file: string): Promise<Effect[]> {
  if (!existsSync(file)) return []
  return (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id, attempt, pid, step] = line.split(' ')
      if (id === undefined || (step !== 'begin' && step !== 'end'))
        throw new Error(`${file} has a broken line: ${line}`)
      return { id, attempt: Number(attempt), pid: Number(pid), step }
    })
}
