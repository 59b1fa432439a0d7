import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { internalLabel, type Inbox } from '../../src/inbox/port.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { digestOf } from './history.ts'

/** A stored event. */
export interface StoredCopy {
  readonly id: string
  /** Digest of its body; null if that was pruned. */
  readonly digest: string | null
  /** Accept-sequence number, without the inbox's own events. */
  readonly seq: number
}

/** The run of one handler for one event. */
export interface WorkRecord {
  readonly id: string
  readonly handler: string
  readonly state: string
  /** Counted attempts. */
  readonly attempt: number
  /** Attempts that crashed. */
  readonly crashed: number
}

export type Ledger = Awaited<ReturnType<typeof readInbox>>

/** Reads a database file that no process serves. */
export async function readLedger(databaseFile: string): Promise<Ledger> {
  return readInbox(await createSqliteInbox({ file: databaseFile }))
}

/** Reads an inbox and closes it. */
export async function readInbox(inbox: Inbox) {
  try {
    const stored: StoredCopy[] = []
    /** Numbers of the inbox's own events. */
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

/** One line of the handler's trace file. */
export interface Effect {
  readonly id: string
  readonly attempt: number
  readonly pid: number
  /** An attempt writes one line at its begin and one at its end. */
  readonly step: 'begin' | 'end'
}

/** Source of a handler that traces its attempts in the file EFFECTS. An attempt takes up to `busyMs`. */
export function effectsHandler({ busyMs = 0 } = {}): string {
  return `
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'

const write = (event, ctx, step) =>
  appendFileSync(process.env.EFFECTS, \`\${event.id} \${ctx.attempt} \${process.pid} \${step}\\n\`, { flag: 'a' })

export default defineHandler({
  type: '*',
  concurrency: 8,
  async run(event, ctx) {
    write(event, ctx, 'begin')
    if (${busyMs} > 0) await wait(Math.random() * ${busyMs})
    write(event, ctx, 'end')
  },
})
`
}

/** Empty if the file does not exist. */
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
