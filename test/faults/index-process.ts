import { setTimeout as wait } from 'node:timers/promises'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'

// Opens an inbox and says, line by line, how far its index is, until it is killed.

const inbox = await createSqliteInbox({ file: process.argv[2] ?? '' })
for (;;) {
  const { indexedSeq } = await inbox.indexStatus()
  process.stdout.write(`${indexedSeq}\n`)
  await wait(5)
}
