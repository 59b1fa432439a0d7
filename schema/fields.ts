import { z } from 'zod'
import { networkIds } from './names.ts'

/** Marks a schema with the numbers of the assumptions it rests on, in addition to those it has (`x-assumption`). */
export function assumed<S extends z.ZodType>(schema: S, ...assumptions: readonly string[]): S {
  const earlier = schema.meta()?.['x-assumption']
  return schema.meta({ 'x-assumption': [...(Array.isArray(earlier) ? earlier : []), ...assumptions] })
}

type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] }

/**
 * The type of a loose object without its unknown members, at any depth: a misspelt field is a compile error. They are kept
 * at run time.
 */
export type Declared<T> = T extends readonly (infer Item)[]
  ? Declared<Item>[]
  : T extends object
    ? [keyof Known<T>] extends [never]
      ? T
      : { [K in keyof Known<T>]: Declared<Known<T>[K]> }
    : T

// Fields that several event types share. `describe` returns a copy, so an event may describe a field in its own words.

/** A string with an open set of values (R103). */
export const openString = z.string()

export const network = openString.describe(`Network identifier; known today: ${networkIds.join(', ')}.`)
export const tokenAddress = openString.describe('Contract address of the token, as the network writes it.')
export const walletAddress = openString.describe('Public address of the tracked wallet.')
export const contractAddress = openString.describe('Address of the contract.')
export const poolAddress = openString.describe('Address of the liquidity pool.')
export const symbol = openString.describe('Symbol of the token, chosen by its creator: not unique, not to be trusted.')
export const tokenName = openString.describe('Name of the token, chosen by its creator: not unique, not to be trusted.')
export const txHash = openString.describe('Hash or signature of the transaction.')
export const aiSummary = openString.describe('Findings of the AI audit, in words.')
export const usd = z.number().describe('Amount in USD.')
export const percent = z.number().describe('Percent: 12.5 means 12.5 %.')
export const riskScore = z.int().describe('Risk score of the AI audit; higher is worse.')
