import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { maxCrashes } from '../../src/inbox/port.ts'
import { createSqliteInbox, type SqliteInboxOptions } from '../../src/inbox/sqlite/inbox.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { openInbox, startServing } from '../../src/inbox/open.ts'
import { anEvent, ordered } from '../conformance/stage.ts'
import { Sidecar } from '../support/sidecar.ts'
import { databaseFiles } from '../support/sqlite-files.ts'
import { until } from '../support/until.ts'

const { newDatabaseFile, copyDatabase } = databaseFiles()

async function anInbox(file: string, options: Omit<SqliteInboxOptions, 'file'> = {}) {
  const inbox = await createSqliteInbox({ file, ...options })
  return { ...inbox, [Symbol.asyncDispose]: () => inbox.close() }
}

/** The threads of a name that this test starts. */
function threadsOf(name: string): readonly Worker[] {
  const threads: Worker[] = []
  const note = (thread: Worker) => void (thread.threadName === name && threads.push(thread))
  process.on('worker', note)
  onTestFinished(() => void process.off('worker', note))
  return threads
}

describe('the inbox in its threads', () => {
  test('logs at the start which runs became dead letters after too many crashes', async () => {
    const file = newDatabaseFile()
    const lines: object[] = []
    const error = (fields: object, message: string) => void lines.push({ ...fields, message })
    const log = Object.assign(Object.create(silentLogger) as Logger, { error })
    const open = async () => (await openInbox({ database: { kind: 'sqlite', file }, clock: systemClock, log })).inbox
    for (let n = 0; n < maxCrashes; n += 1) {
      const inbox = await open()
      await inbox.register([ordered])
      if (n === 0) await inbox.accept([anEvent('a')])
      await inbox.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: n > 0 })
      await inbox.close()
      expect(lines).toEqual([])
    }
    await (await open()).close()
    const name = { handler: 'ordered', eventId: 'a', attempt: maxCrashes, message: 'run became a dead letter' }
    expect(lines).toMatchObject([{ ...name, error: expect.stringMatching(/^handler_crashed: /) }])
    await (await open()).close()
    expect(lines).toHaveLength(1)
  })

  test('accepts deliveries before the gaps are read at the start', async () => {
    await using inbox = await anInbox(newDatabaseFile())
    await startServing({ ...inbox, gaps: () => new Promise<never>(() => {}) }, systemClock, silentLogger)
  })

  test('warns once of a failing replay, and continues others', async () => {
    const file = newDatabaseFile()
    const { store, ...opened } = await openFileStore(file, { clock: systemClock })
    store.transact([], () => {
      store.register([ordered])
      store.accept([anEvent('a')])
      store.replays.start({ filter: { ids: ['a'] }, perSecond: null, newKeys: false })
      store.replays.start({ filter: { ids: ['a'] }, perSecond: null, newKeys: false })
    })
    opened.committed()
    opened.close()
    const db = new Database(file)
    db.exec(`UPDATE replay SET filter = 'broken' WHERE id = 1`)
    db.close()
    const warnings: unknown[] = []
    await using inbox = await anInbox(file, { onWarning: (...warning) => void warnings.push(warning) })
    await inbox.register([ordered])
    await until(async () => (await inbox.replay(2))?.runs === 1, 'a run of the other replay')
    await until(() => warnings.length > 0, 'a warning')
    expect(warnings).toEqual([
      ['job step failed', { job: 'replay 1', error: expect.stringMatching(/^Unexpected token/) as string }],
    ])
  })

  test('fails once when its writer thread dies: pending and later calls reject, queries still work', async () => {
    const file = newDatabaseFile()
    await using inbox = await anInbox(file)
    await inbox.register([ordered])
    await inbox.accept([anEvent('a')])
    await inbox.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
    const failures: Error[] = []
    inbox.onFailure((error) => void failures.push(error))
    const waiting = inbox.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
    const rejected = expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' })
    const port = await inbox.openDispatchChannel()
    // Not a list of calls: an uncaught error in the thread.
    port.postMessage(0)
    await rejected
    expect(await new Promise((resolve) => inbox.onFailure(resolve))).toBe(failures[0])
    port.close()
    expect(failures).toMatchObject([
      { code: 'store_unavailable', message: expect.stringMatching(/^the writer thread died: /) },
    ])
    await expect(inbox.accept([anEvent('b')])).rejects.toBe(failures[0])
    expect(inbox.health()).toMatchObject({ ok: false, reason: expect.stringContaining('the writer thread died') })
    expect(await inbox.event('a')).toMatchObject({ seq: 1 })
    await inbox.close()
    await using again = await anInbox(file)
    expect(again.integrity).toMatchObject({ lastSeq: 1, missingSeqs: 0, cleanStop: false })
    expect(failures).toHaveLength(1)
  })

  test('replaces a reader thread that dies: its calls reject, and the next query works', async () => {
    const readers = threadsOf('reader')
    await using inbox = await anInbox(newDatabaseFile())
    await inbox.accept([anEvent('a')])
    await inbox.gaps()
    const pending = expect(inbox.stats()).rejects.toMatchObject({ code: 'store_unavailable' })
    await readers[0]?.terminate()
    await pending
    expect(await inbox.event('a')).toMatchObject({ seq: 1 })
    expect(inbox.health()).toMatchObject({ ok: true })
    expect(readers).toHaveLength(2)
  })

  test('ends the reader thread when it is idle, and starts it again for the next query', async () => {
    const readers = threadsOf('reader')
    await using inbox = await anInbox(newDatabaseFile())
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await inbox.gaps()
    vi.advanceTimersByTime(29_000)
    await inbox.gaps()
    const [reader] = readers
    const ended = once(reader!, 'exit')
    vi.advanceTimersByTime(29_000)
    expect(reader!.threadId).toBeGreaterThan(0)
    vi.advanceTimersByTime(2_000)
    await ended
    expect(await inbox.gaps()).toEqual([])
    expect(readers).toHaveLength(2)
  })

  test('finds a damaged page in the structure check; close waits neither for a check nor for a dead writer', async () => {
    const file = newDatabaseFile()
    const [checkers, writers] = [threadsOf('checker'), threadsOf('writer')]
    await using sound = await anInbox(file)
    await sound.accept(Array.from({ length: 500 }, (_, n) => anEvent(`e${n}`, { raw: Buffer.alloc(500, n) })))
    expect(await sound.quickCheck()).toBe('ok')
    const aborted = expect(sound.quickCheck()).rejects.toMatchObject({ code: 'shutting_down' })
    await new Promise(setImmediate)
    // As if the check of a large table went on.
    const goesOn = vi.spyOn(checkers[1]!, 'terminate').mockReturnValue(new Promise(() => {}))
    await sound.close()
    await aborted
    goesOn.mockRestore()
    await checkers[1]!.terminate()
    const bytes = readFileSync(file)
    bytes.fill(0xa5, bytes.length - 2 * 4096, bytes.length - 2 * 4096 + 200)
    writeFileSync(file, bytes)
    await using damaged = await anInbox(file)
    expect(await damaged.quickCheck()).toMatch(/Tree|page|malformed/i)
    const closed = damaged.close()
    await writers[1]?.terminate()
    await closed
  })

  test('reports a due check after an unclean stop until one succeeds', async () => {
    const file = newDatabaseFile()
    const left = await openFileStore(file, { clock: systemClock })
    left.db.close() // Like a kill.
    const image = copyDatabase(file)
    left.close()

    const opened: object[] = []
    for (const checks of [false, true, false]) {
      await using inbox = await anInbox(image)
      const { cleanStop, checkDue } = inbox.integrity
      opened.push({ cleanStop, checkDue })
      if (checks) expect(await inbox.quickCheck()).toBe('ok')
    }
    expect(opened).toEqual([
      { cleanStop: false, checkDue: true },
      { cleanStop: true, checkDue: true },
      { cleanStop: true, checkDue: false },
    ])
  })
})

describe('one process at a time', () => {
  test('a second process is refused until the first is closed or killed', async () => {
    await using sidecar = await Sidecar.start()
    const file = sidecar.databaseFile
    await expect(anInbox(file)).rejects.toMatchObject({
      code: 'database_in_use',
      message: expect.stringContaining(`in use by process ${sidecar.pid}.`),
    })
    await sidecar.kill()
    const taken = await anInbox(file)
    expect(taken.integrity).toMatchObject({ cleanStop: false, missingSeqs: 0 })

    expect(await sidecar.run()).toEqual({ code: 75, signal: null })
    expect(sidecar.output.text).toContain(`in use by process ${process.pid}.`)

    await taken.close()
    await sidecar.start()
    // The last process that accepted deliveries was killed, although the file was closed since.
    expect(await sidecar.log('database opened')).toMatchObject({ cleanStop: false, synchronous: 2 })
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
    await using closed = await anInbox(file)
    expect(closed.integrity.cleanStop).toBe(true)
  }, 60_000)
})
