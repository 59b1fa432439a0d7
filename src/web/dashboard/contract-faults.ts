// What is answered about faults, and what is asked for.

export type { FaultKind, FaultParameter } from '../../emulator/faults/kinds.ts'
export type { StoredRule as StoredFault } from '../../emulator/faults/port.ts'

/** A rule as the form makes it; the emulator checks it. */
export interface FaultRule {
  readonly direction: 'out' | 'in'
  readonly fault: { readonly kind: string } & Readonly<Record<string, unknown>>
  readonly [limit: string]: unknown
}

export interface Scenario {
  readonly name: string
  readonly about: string
}
