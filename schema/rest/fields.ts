import { z } from 'zod'
import { assumed } from '../fields.ts'
import { networkIds } from '../names.ts'

// Fields that several resources share. A resource can change a description with `describe`, which returns a copy with the
// same assumptions.

/** A string with known values. Other values are valid, too (R29, R48, R103). Editors complete the known values. */
export function openEnum<const Known extends string>(...known: readonly Known[]) {
  return z.string().meta({ 'x-extensible-enum': known }) as z.ZodType<Known | (string & {}), string>
}

/** Well-formed text of `min` to `max` Unicode code points. */
export function text(what: string, min: number, max: number) {
  const problem = `expected ${what} of ${min === 0 ? 'at most' : `${min} to`} ${max} characters`
  return z
    .string({ error: problem })
    .min(min, problem)
    .refine((value) => {
      const { length } = Array.from(value)
      return value.isWellFormed() && length >= min && length <= max
    }, problem)
    .meta({ maxLength: max })
}

/** The schema of an object with its description, an example, and the assumptions it rests on. */
export function resource<Fields extends z.ZodRawShape>(
  description: string,
  fields: Fields,
  example: { readonly [Name in keyof Fields]?: unknown },
  ...assumptions: readonly string[]
) {
  const marks = assumptions.length > 0 && { 'x-assumption': assumptions }
  return z.object(fields).meta({ description, ...marks, examples: [example] })
}

/** Describes unknown members of a body (R125). */
export const aboutOtherMembers =
  'Unknown members are ignored. A member that differs from a known one in case only is rejected.'

/** One of the seven networks (R4). */
export const network = z.enum(networkIds).describe('Identifier of the network.')

const base58 = '[1-9A-HJ-NP-Za-km-z]'
const addressPattern = new RegExp(`^(?:0x[0-9a-fA-F]{40}|${base58}{32,44})$`)

/** An address of either family (A9). The network is checked elsewhere (A11). */
export const address = assumed(
  z.string().regex(addressPattern, 'expected 0x and 40 hex digits, or for solana 32 bytes in base58'),
  'A9',
)
export const walletAddress = address.describe(
  'Public address of the wallet: 0x and 40 hex digits in EIP-55 case, or base58 on solana.',
)
export const tokenAddress = address.describe(
  'Contract address of the token: 0x and 40 hex digits in EIP-55 case, or base58 on solana.',
)
export const txHash = assumed(
  z
    .string()
    .regex(new RegExp(`^(?:0x[0-9a-f]{64}|${base58}{87,88})$`))
    .describe('Transaction hash: 0x and 64 lower-case hex digits, or on solana a signature in base58.'),
  'A10',
)
export const timestamp = assumed(
  z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    .meta({ format: 'date-time' }),
  'A4',
)
export const usd = assumed(z.number(), 'A16')
export const percent = z.number()
export const count = z.int().min(0)
