import { randomInt } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { openSource, type Source } from './source.ts'
import { tables } from './tables.ts'
import { notEmpty, openTarget, type Target } from './target.ts'
import { verifyTables, type TableReport } from './verify.ts'

export interface MoveOptions {
  /** The SQLite file. */
  readonly from: string
  /** The URL of the database that it goes to. */
  readonly to: string
  readonly clock: Clock
  /** Copies nothing, and changes nothing. */
  readonly isVerifyOnly: boolean
  /** `done` from 0 to 1. */
  readonly onProgress: (done: number, text: string) => void
}

export interface MoveReport {
  /** `finished`: everything was there, and verified, already. */
  readonly result: 'moved' | 'finished' | 'verified'
  readonly from: string
  /** Without a password. */
  readonly to: string
  /** Whether an earlier call had begun. */
  readonly resumed: boolean
  /** What was found on both sides; none where nothing was verified. */
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly digest: string }[]
}

/**
 * Moves a SQLite file to PostgreSQL: copies all rows with their ids, reads them all again to compare them, and marks both sides. Whenever
 * it is ended, the same call goes on: each statement stores rows in the order of their keys, so that the last one there says how far it came.
 *
 * @throws InboxError `database_in_use` while either side is served, `database_older`, `usage` for a database with other rows,
 *   `database_corrupt` where the sides differ, `store_unavailable`
 */
export async function moveInbox(options: MoveOptions): Promise<MoveReport> {
  const source = openSource(options.from, options.clock)
  try {
    const target = await openTarget(options.to)
    try {
      return await move(source, target, options)
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

/**
 * Takes back that a file is, or was, moved, so that it is served again. Throws `database_in_use` while it is, and `usage` where it never
 * was moved.
 */
export async function undoMove(from: string, clock: Clock): Promise<string> {
  const source = openSource(from, clock)
  try {
    if (source.marks() === null)
      throw new InboxError('usage', `${source.file} was not moved: there is nothing to take back`)
    await source.undo()
    return source.file
  } finally {
    source.close()
  }
}

async function move(source: Source, target: Target, options: MoveOptions): Promise<MoveReport> {
  const { clock, isVerifyOnly, onProgress } = options
  const [before, there] = [source.marks(), await target.marks()]
  if (there.id !== null && there.id !== before?.id) {
    throw new InboxError(
      'usage',
      notEmpty(target.name, 'another file was moved there, or this one before its move was undone'),
    )
  }
  const named = { from: source.file, to: target.name, resumed: there.id !== null }
  if (isVerifyOnly) {
    await target.refuseServed()
    if (there.id === null)
      throw new InboxError('usage', `${source.file} was not moved to ${target.name}: nothing is there`)
    return {
      result: 'verified',
      ...named,
      tables: await verify(source, target, there.isDone, (done) => onProgress(done, 'comparing')),
    }
  }
  if (before?.movedAt) {
    if (there.isDone) return { result: 'finished', ...named, tables: [] }
    const when = new Date(before.movedAt).toISOString()
    throw new InboxError(
      'usage',
      `${source.file} was moved elsewhere at ${when}; to move it again, undo that first: move --undo`,
    )
  }
  if (there.isDone) {
    // It was ended between the two last steps. Replicas may have been at work since: there is nothing to compare any more.
    await source.finish()
    return { result: 'finished', ...named, tables: [] }
  }
  await target.refuseServed()
  const id = before?.id ?? randomInt(1, 2 ** 47)
  if (before === null) await source.begin(id)
  if (there.id === null) {
    await target.begin(id, clock.now())
    // One that started meanwhile has not seen that.
    await target.refuseServed()
  }
  await copy(source, target, (done) => onProgress(done * 0.6, 'copying'))
  await target.settle(source.counts(), source.meta())
  const found = await verify(source, target, false, (done) => onProgress(0.6 + done * 0.4, 'comparing'))
  await target.finish(clock.now())
  await source.finish()
  return { result: 'moved', ...named, tables: found }
}

async function copy(source: Source, target: Target, onProgress: (done: number) => void): Promise<void> {
  const progress = createShare(source, onProgress)
  for (const table of tables) {
    let after = await target.reached(table)
    if (after !== null) progress.add(await target.count(table))
    for (;;) {
      const rows = source.rows(table, after)
      const last = rows.at(-1)
      if (last === undefined) break
      await target.insert(table, rows)
      after = table.key.map((column) => last[column] as number | string)
      progress.add(rows.length)
    }
  }
}

async function verify(
  source: Source,
  target: Target,
  isDone: boolean,
  onProgress: (done: number) => void,
): Promise<MoveReport['tables']> {
  const reports = await verifyTables(source, target, createShare(source, onProgress).add)
  const wrong = reports.filter(({ difference }) => difference !== null)
  if (wrong.length > 0) throw differs(source, target, wrong, isDone)
  return reports.map(({ table, source: { rows, digest } }) => ({ table, rows, digest }))
}

function differs(source: Source, target: Target, wrong: readonly TableReport[], isDone: boolean): InboxError {
  const lines = wrong.map(({ table, source: ours, target: theirs, difference }) => {
    const sides = `${ours.rows} rows ${ours.digest.slice(0, 12)} in the file, ${theirs.rows} rows ${theirs.digest.slice(0, 12)} there`
    return `${table}: ${difference ?? ''} (${sides})`
  })
  return new InboxError(
    'database_corrupt',
    `${target.name} does not hold what ${source.file} does${isDone ? ratherDone : ratherAgain}:\n  ${lines.join('\n  ')}`,
  )
}

const ratherAgain = '; it is not served. DROP SCHEMA inbox CASCADE there, and move again'
const ratherDone =
  ', of which it once held every row. If a replica has worked there since it was moved, that is as it should be, and there is nothing to do: ' +
  'what is there is what counts'

/** Which part of all rows was seen to. */
function createShare(source: Source, onProgress: (done: number) => void) {
  const total = tables.reduce((sum, table) => sum + source.count(table), 0)
  let done = 0
  return {
    add: (rows: number): void => {
      done += rows
      onProgress(total === 0 ? 1 : Math.min(1, done / total))
    },
  }
}
