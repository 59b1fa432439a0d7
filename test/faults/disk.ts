import { execFile } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Mounts a tmpfs until it is disposed. Requires root. */
export async function aDisk(options: string) {
  const path = await mkdtemp(join(tmpdir(), 'inbox-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])
  return {
    path,
    file: join(path, 'inbox.db'),
    remount: (changed: string) => run('mount', ['-o', `remount,${changed}`, path]),
    /** Leaves 512 KiB free. Retries, because a mount fails if more is in use by then. */
    async shrink(): Promise<void> {
      for (let tries = 1; ; tries += 1) {
        const { blocks, bfree, bsize } = await statfs(path)
        try {
          await run('mount', ['-o', `remount,size=${(blocks - bfree) * bsize + 512 * 1024}`, path])
          return
        } catch (error) {
          if (tries === 20) throw error
        }
      }
    },
    /** Fills the free space. */
    async fill(): Promise<void> {
      const { bavail, bsize } = await statfs(path)
      await writeFile(join(path, 'filler'), Buffer.alloc(bavail * bsize))
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(path)
      return bavail * bsize
    },
    async [Symbol.asyncDispose]() {
      await run('umount', ['-l', path])
      await rm(path, { recursive: true })
    },
  }
}
