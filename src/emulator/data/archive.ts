import type { AccountsState } from '../accounts/state.ts'

/** A part of the history of a world. Two with the same digest are the same. */
export interface Chunk {
  /** Names it among all of its world. */
  readonly key: string
  /** It never changes again. */
  readonly isFinal: boolean
  readonly digest: string
  /** What is kept of it: compressed, if it is in a file. */
  bytes(): Uint8Array
}

/** The world and the accounts as of one moment. */
export interface SavedState {
  /** World time. */
  readonly at: number
  readonly accounts: AccountsState
  /** What changes all the time; compressed, if it is in a file. */
  readonly core: Uint8Array
  readonly chunks: readonly Chunk[]
}

/** Saved states by name. */
export interface Archive {
  /** In place of one of this name, if there is one. */
  put(name: string, state: SavedState): void
  get(name: string): SavedState | null
  /** False if there is none of this name. */
  remove(name: string): boolean
  /** Oldest first. */
  list(): readonly { readonly name: string; readonly at: number }[]
}

/** Keeps saved states as long as the process lives; what several of them have in common is kept once. */
export function createMemoryArchive(): Archive {
  const states = new Map<string, SavedState>()
  return {
    put(name, state) {
      states.delete(name)
      states.set(name, state)
    },
    get: (name) => states.get(name) ?? null,
    remove: (name) => states.delete(name),
    list: () => [...states].map(([name, { at }]) => ({ name, at })),
  }
}
