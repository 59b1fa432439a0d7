import { execFile } from 'node:child_process'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { anEvent } from '../conformance/stage.ts'
import { ask, startPostgres } from '../support/postgres.ts'
import { canMount } from '../support/tools.ts'
import { aDisk } from './disk.ts'

/** Fills the rest of a disk with a file. */
async function fill(path: string): Promise<void> {
  await using file = await open(path, 'a')
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) await file.write(Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

test.skipIf(!canMount())(
  'with PostgreSQL on a full disk, events are rejected with store_full until there is space, and none is lost (needs root)',
  async () => {
    await using disk = await aDisk('size=80m,mode=755')
    const folder = join(disk.path, 'of-postgres')
    await mkdir(folder)
    await using postgres = await startPostgres()
    // The server runs as this user.
    await promisify(execFile)('chown', ['postgres:', folder])
    const root = await postgres.createDatabase('inbox')
    await ask(root, `CREATE TABLESPACE small LOCATION '${folder}'`)
    await ask(root, 'CREATE DATABASE small TABLESPACE small')
    const url = Object.assign(new URL(root), { pathname: '/small' }).href
    const inbox = await createPostgresInbox({ url, clock: systemClock })
    await using stack = new AsyncDisposableStack()
    stack.defer(() => inbox.close())
    // Large, so that free space within pages is used up soon.
    const accept = (n: number) => inbox.accept([anEvent(`e${n}`, { raw: new Uint8Array(20_000) })])

    expect(await accept(0)).toEqual(['accepted'])
    const filler = join(disk.path, 'filler')
    await fill(filler)
    const rejected: number[] = []
    let sent = 1
    for (; rejected.length < 50; sent += 1) {
      await accept(sent).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'store_full' })
        rejected.push(sent)
      })
    }
    expect(inbox.health()).toEqual({ ok: true })

    await rm(filler)
    for (const n of rejected) expect(await accept(n)).toEqual(['accepted'])
    expect(await inbox.stats()).toMatchObject({ lastSeq: sent, missingSeqs: 0 })
  },
)
