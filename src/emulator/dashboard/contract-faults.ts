// What is answered about faults.

export type FaultDirection = 'out' | 'in'

export interface FaultParameter {
  readonly name: string
  readonly default?: unknown
  readonly about: string
  /** What it may be, where that is a list. */
  readonly choices?: readonly unknown[]
}

export interface FaultKind {
  readonly kind: string
  readonly direction: FaultDirection
  readonly about: string
  readonly parameters: readonly FaultParameter[]
}

export interface FaultRule {
  readonly direction: FaultDirection
  readonly fault: { readonly kind: string } & Readonly<Record<string, unknown>>
  readonly [limit: string]: unknown
}

export interface StoredFault {
  readonly id: string
  readonly rule: FaultRule
  /** How often it struck. */
  readonly struck: number
}

export interface Scenario {
  readonly name: string
  readonly about: string
}
