import { z } from 'zod'
import { networkIds } from './envelope.ts'

// Fields that several event types share. `describe` gives a new schema, so an event may describe one anew.

/** A string whose values are not enumerated, whatever the samples show (R103). */
export const open = z.string()

export const network = open.describe(`Network identifier; known today: ${networkIds.join(', ')}.`)
export const tokenAddress = open.describe('Contract address of the token, as the network writes it.')
export const walletAddress = open.describe('Public address of the tracked wallet.')
export const contractAddress = open.describe('Address of the contract.')
export const poolAddress = open.describe('Address of the liquidity pool.')
export const symbol = open.describe('Symbol of the token, chosen by whoever made it: not unique, not to be trusted.')
export const tokenName = open.describe('Name of the token, chosen by whoever made it: not unique, not to be trusted.')
export const txHash = open.describe('Hash or signature of the transaction.')
export const aiSummary = open.describe('What the AI audit found, in words.')
export const usd = z.number().describe('Amount in USD.')
export const percent = z.number().describe('Percent: 12.5 means 12.5 %.')
export const riskScore = z.int().describe('Risk score of the AI audit; higher is worse.')
