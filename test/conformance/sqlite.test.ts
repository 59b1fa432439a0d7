import { existsSync } from 'node:fs'
import { afterAll } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { counts } from '../counts.ts'
import { databaseFiles } from '../support/sqlite-files.ts'
import { describeInboxConformance } from './suite.ts'

// In memory if possible: the tests cut no power, and thousands of fsyncs take minutes.
const { newDatabaseFile, copyDatabase } = databaseFiles(existsSync('/dev/shm') ? '/dev/shm' : undefined)
const files = new WeakMap<Inbox, string>()
const crashed: Inbox[] = []

afterAll(async () => {
  for (const inbox of crashed) await inbox.close()
})

async function openFile(file: string, clock: Clock): Promise<Inbox> {
  const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  files.set(inbox, file)
  return inbox
}

const fileOf = (inbox: Inbox) => files.get(inbox) ?? ''

describeInboxConformance('SQLite inbox', {
  walks: counts.sqliteWalks,
  open: ({ clock }) => openFile(newDatabaseFile(), clock),
  reopen: (closed, { clock }) => openFile(fileOf(closed), clock),
  async crash(live, { clock }) {
    // A copy of the files, like after kill -9. The live inbox keeps its own files.
    crashed.push(live)
    return openFile(copyDatabase(fileOf(live)), clock)
  },
})
