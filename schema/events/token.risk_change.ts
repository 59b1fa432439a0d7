import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { aiSummary, network, open, riskScore, symbol, tokenAddress } from '../fields.ts'

/** `data` of `token.risk_change` (R95). Unknown fields are kept (R125). */
const tokenRiskChangeData = z.looseObject({
  token_address: tokenAddress,
  network,
  symbol,
  previous_risk_score: riskScore.describe('Risk score before; higher is worse.'),
  current_risk_score: riskScore.describe('Risk score now; higher is worse.'),
  risk_level: open.describe('Level of the score in a word, such as low or critical; an open set.'),
  triggered_checks: z.array(z.string()).describe('Names of the audit checks that fired.'),
  ai_summary: aiSummary,
})

/** A whole `token.risk_change` event (R95). */
export const tokenRiskChangeEvent = toEventSchema(
  'token.risk_change',
  'AI audit risk score moved by more than the configured sensitivity.',
  tokenRiskChangeData,
)
