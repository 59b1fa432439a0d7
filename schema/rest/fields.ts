import { z } from 'zod'
import { networkIds } from '../envelope.ts'

// Fields that several resources share. What is our choice rather than the service's is marked with `x-assumption`, here
// and in the files beside this one; the marks go into the generated documents. `describe` gives a new schema and keeps
// the mark, so a resource may describe a field anew.

/** Marks a schema as our choice, with the numbers of the assumptions, beside those that it has. */
export function assumed<S extends z.ZodType>(schema: S, ...assumptions: readonly string[]): S {
  const earlier = schema.meta()?.['x-assumption']
  return schema.meta({ 'x-assumption': [...(Array.isArray(earlier) ? earlier : []), ...assumptions] })
}

/** A string of which some values are known and more may come (R29, R48, R103). Editors complete the known ones. */
export function openEnum<const Known extends string>(...known: readonly Known[]) {
  return z.string().meta({ 'x-extensible-enum': known }) as z.ZodType<Known | (string & {}), string>
}

/** Text of `min` to `max` characters, as Unicode counts them; a lone surrogate is refused. */
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

/** What bodies say of members that they do not list (R125). */
export const aboutOtherMembers =
  'Members that are not listed here are ignored; but one that differs in case only from one that is, is refused.'

/** One of the seven networks (R4). */
export const network = z.enum(networkIds).describe('Identifier of the network.')

const base58 = '[1-9A-HJ-NP-Za-km-z]'
const addressPattern = new RegExp(`^(?:0x[0-9a-fA-F]{40}|${base58}{32,44})$`)

/** An address of either family (A9); whether it is one of the network it comes with is checked elsewhere (A11). */
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
export const symbol = z
  .string()
  .describe('Symbol of the token, chosen by whoever made it: not unique, not to be trusted.')
export const tokenName = z
  .string()
  .describe('Name of the token, chosen by whoever made it: not unique, not to be trusted.')
export const usd = assumed(z.number(), 'A16')
export const percent = z.number()
export const count = z.int().min(0)
