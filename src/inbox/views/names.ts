import type { Views } from './views.ts'

/** The views by name, for calls that reach them in another thread, or before they are loaded. */
export const viewNames = [
  'events',
  'event',
  'activity',
  'secretUses',
  'knownWallets',
  'deadLetters',
  'deadLetter',
  'deadGroups',
  'deadRunIds',
  'conflicts',
  'conflict',
  'quarantine',
  'quarantined',
  'quarantineGroups',
  'replays',
  'replay',
  'audit',
  'gaps',
  'unknownIds',
  'countReplay',
  'stats',
] as const satisfies readonly (keyof Views)[]
