import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import { createLocalSqliteInbox, createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { describeSearch } from './search.ts'

const root = mkdtempSync(join(tmpdir(), 'inbox-search-'))
const files = new WeakMap<Inbox, string>()
let count = 0

afterAll(() => rmSync(root, { recursive: true }))

async function openFile(file: string, clock: Clock): Promise<Inbox> {
  const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  files.set(inbox, file)
  return inbox
}

describe('SQLite inbox in memory', () => describeSearch({ open: createMemoryInbox }))

describe('SQLite inbox', () =>
  describeSearch({
    open: ({ clock }) => openFile(join(root, `${(count += 1)}.db`), clock),
    reopen: (closed, { clock }) => openFile(files.get(closed) ?? '', clock),
  }))
