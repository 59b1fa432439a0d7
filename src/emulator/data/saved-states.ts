// Part of the package's types: imports no database.
import type { AccountsState } from '../accounts/port.ts'
import type { WorldSnapshot } from '../world/port.ts'

/** The world and the accounts as of one moment. */
export interface SavedState {
  /** World time. */
  readonly at: number
  readonly accounts: AccountsState
  readonly world: WorldSnapshot
}

/** Saved states by name. */
export interface SavedStates {
  /** Replaces a state of the same name. */
  put(name: string, state: SavedState): void
  get(name: string): SavedState | null
  /** False if there is none of this name. */
  remove(name: string): boolean
  /** Oldest first. */
  list(): readonly { readonly name: string; readonly at: number }[]
}
