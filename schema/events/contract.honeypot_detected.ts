import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { aiSummary, contractAddress, network, open, riskScore, symbol, usd } from '../fields.ts'

/** `data` of `contract.honeypot_detected` (R99). Unknown fields are kept (R125). */
const contractHoneypotDetectedData = z.looseObject({
  contract_address: contractAddress,
  network,
  symbol,
  risk_score: riskScore,
  honeypot_type: open.describe('How selling is prevented, such as sell_blocked; an open set.'),
  liquidity_usd: usd.describe('Liquidity in USD.'),
  holder_count: z.int().describe('Number of holders.'),
  ai_summary: aiSummary,
})

/** A whole `contract.honeypot_detected` event (R99). */
export const contractHoneypotDetectedEvent = toEventSchema(
  'contract.honeypot_detected',
  'AI audit flagged a contract as a honeypot: buyers cannot sell.',
  contractHoneypotDetectedData,
)
