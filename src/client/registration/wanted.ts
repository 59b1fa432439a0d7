import { createHash } from 'node:crypto'

/** What the receiver is to be registered for. */
export interface Wanted {
  readonly url: string
  /** Types by name, or `*` alone. */
  readonly events: readonly string[]
  readonly secretLabel: string
}

/** The same for the same url, events in whatever order, and label of the secret. Hex of SHA-256. */
export function digestOf({ url, events, secretLabel }: Wanted): string {
  return createHash('sha256')
    .update(JSON.stringify([url, events.toSorted(), secretLabel]))
    .digest('hex')
}
