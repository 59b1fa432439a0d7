import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { AccountsState } from '../accounts/state.ts'
import type { World } from '../world/port.ts'
import type { Chunk, SavedState } from './archive.ts'

const compress = promisify(zstdCompress)

/** Turns a world into saved states and back. */
export interface WorldPacker {
  /** Takes the state as of now. Not to be called while a call is under way, nor `restore`. */
  take(accounts: AccountsState): Promise<SavedState>
  /** Puts the world back to a saved state. */
  restore(state: Pick<SavedState, 'core' | 'chunks'>): void
}

type Packed = Pick<World, 'now' | 'snapshot' | 'restore'>

/** For states in a file: they are compressed on another thread, and what never changes again is read once. */
export function createWorldPacker(world: Packed): WorldPacker {
  /** Digests of those that never change again, by their keys. */
  const known = new Map<string, string>()

  return {
    async take(accounts) {
      const at = world.now()
      const { core, chunks } = world.snapshot()
      const changing = new Map(chunks.filter(({ isFinal }) => !isFinal).map((chunk) => [chunk.key, chunk.bytes()]))
      const taken: Chunk[] = []
      for (const chunk of chunks) {
        const { key, isFinal } = chunk
        const digest = known.get(key)
        if (digest !== undefined) taken.push({ key, isFinal, digest, bytes: () => zstdCompressSync(chunk.bytes()) })
        else taken.push(await packChunk(key, isFinal, changing.get(key) ?? chunk.bytes()))
      }
      for (const { key, isFinal, digest } of taken) if (isFinal) known.set(key, digest)
      return { at, accounts, core: await compress(core), chunks: taken }
    },
    restore({ core, chunks }) {
      world.restore({
        core: zstdDecompressSync(core),
        chunks: chunks.map((chunk) => ({ ...chunk, bytes: () => zstdDecompressSync(chunk.bytes()) })),
      })
      known.clear()
      for (const { key, isFinal, digest } of chunks) if (isFinal) known.set(key, digest)
    },
  }
}

async function packChunk(key: string, isFinal: boolean, content: Uint8Array): Promise<Chunk> {
  const packed = await compress(content)
  return { key, isFinal, digest: hash('sha256', content), bytes: () => packed }
}

/** For states in memory: what never changes again is the world's own, and takes no more room. */
export function createWorldHolder(world: Packed): WorldPacker {
  return {
    take(accounts) {
      const { core, chunks } = world.snapshot()
      const held = chunks.map(({ key, isFinal, bytes }): Chunk => {
        if (isFinal) return { key, isFinal, digest: key, bytes }
        const copy = bytes()
        return { key, isFinal, digest: key, bytes: () => copy }
      })
      return Promise.resolve({ at: world.now(), accounts, core, chunks: held })
    },
    restore: (state) => world.restore(state),
  }
}
