import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { counts } from '../counts.ts'
import { describeInboxConformance } from './suite.ts'

// In memory if possible: the tests cut no power, and thousands of fsyncs take minutes.
const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'inbox-conformance-'))
const files = new WeakMap<Inbox, string>()
const crashed: Inbox[] = []
let count = 0

afterAll(async () => {
  for (const inbox of crashed) await inbox.close()
  rmSync(root, { recursive: true })
})

async function openFile(file: string, clock: Clock): Promise<Inbox> {
  const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  files.set(inbox, file)
  return inbox
}

const newFile = () => join(root, String(++count), 'inbox.db')

const fileOf = (inbox: Inbox) => files.get(inbox) ?? ''

describeInboxConformance('SQLite inbox', {
  walks: counts.sqliteWalks,
  open: ({ clock }) => openFile(newFile(), clock),
  reopen: (closed, { clock }) => openFile(fileOf(closed), clock),
  async crash(live, { clock }) {
    // A copy of the files, like after kill -9. The live inbox keeps its own files.
    crashed.push(live)
    const image = newFile()
    mkdirSync(join(image, '..'))
    for (const suffix of ['', '-wal', '.seq']) {
      if (existsSync(fileOf(live) + suffix)) copyFileSync(fileOf(live) + suffix, image + suffix)
    }
    return openFile(image, clock)
  },
})
