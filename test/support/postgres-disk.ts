import { execFile } from 'node:child_process'
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aDisk } from '../faults/disk.ts'
import { ask, startPostgres, type TestPostgres } from './postgres.ts'

const run = promisify(execFile)

export interface SmallDiskPostgres extends AsyncDisposable {
  readonly postgres: TestPostgres
  /** A database with all that it has on the small disk. */
  readonly url: string
  /** Takes what is left, and what becomes free meanwhile. */
  fill(): Promise<void>
  makeSpace(): Promise<void>
}

/** A server whose tables, or all of whose files, are on a disk of its own. Only as root. */
export async function startOnSmallDisk(what: 'tables' | 'all'): Promise<SmallDiskPostgres> {
  await using stack = new AsyncDisposableStack()
  const disk = stack.use(await aDisk('size=160m,mode=755'))
  const folder = join(disk.path, 'of-postgres')
  await mkdir(folder)
  const postgres = stack.use(await startPostgres(what === 'all' ? { dataDir: join(folder, 'data') } : {}))
  let url = await postgres.createDatabase('inbox')
  if (what === 'tables') {
    // The user that the server runs as.
    await run('chown', ['postgres:', folder])
    await ask(url, `CREATE TABLESPACE small LOCATION '${folder}'`)
    await ask(url, 'CREATE DATABASE small TABLESPACE small')
    url = Object.assign(new URL(url), { pathname: '/small' }).href
  }
  const filler = join(disk.path, 'filler')
  const disposal = stack.move()
  return {
    postgres,
    url,
    async fill() {
      await using file = await open(filler, 'a')
      await writeUntilFull(file)
    },
    makeSpace: () => rm(filler),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

async function writeUntilFull(file: FileHandle): Promise<void> {
  for (const size of [1024 * 1024, 4096]) {
    try {
      for (;;) await file.write(Buffer.alloc(size))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}
