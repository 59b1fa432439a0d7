import { z } from 'zod'
import { inFault, outFault } from './kinds.ts'

/** A kind of fault, for people and for forms that are made from it. */
export interface FaultKind {
  readonly kind: string
  readonly direction: 'out' | 'in'
  readonly about: string
  readonly parameters: readonly FaultParameter[]
}

export interface FaultParameter {
  readonly name: string
  readonly default: unknown
  readonly about: string
  /** What it may be, where that is a list. */
  readonly choices?: readonly unknown[]
}

/** Every kind of fault, made from the schemas by which rules are read. */
export function listFaultKinds(): readonly FaultKind[] {
  return [
    ...outFault.options.map((option) => toKind('out', option)),
    ...inFault.options.map((option) => toKind('in', option)),
  ]
}

function toKind(direction: 'out' | 'in', schema: z.ZodType): FaultKind {
  const { description = '', properties = {} } = z.toJSONSchema(schema, { io: 'input' })
  const { kind, ...parameters } = properties as Readonly<Record<string, z.core.JSONSchema.BaseSchema>>
  return {
    kind: String(kind?.const),
    direction,
    about: description,
    parameters: Object.entries(parameters).map(([name, parameter]) => ({
      name,
      default: parameter.default,
      about: parameter.description ?? '',
      ...(parameter.enum !== undefined && { choices: parameter.enum }),
    })),
  }
}
