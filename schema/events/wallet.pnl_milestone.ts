import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { network, open, percent, usd, walletAddress } from '../fields.ts'

/** `data` of `wallet.pnl_milestone` (R98). Unknown fields are kept (R125). */
const walletPnlMilestoneData = z.looseObject({
  wallet_address: walletAddress,
  network,
  milestone_usd: usd.describe('The milestone in USD; negative for a loss.'),
  realized_pnl_usd: usd.describe('Cumulative realized profit or loss in USD.'),
  roi_pct: percent.describe('Return on investment, percent of cost basis.'),
  timeframe: open.describe('Window of the figures, such as 30d or all.'),
})

/** A whole `wallet.pnl_milestone` event (R98). */
export const walletPnlMilestoneEvent = toEventSchema(
  'wallet.pnl_milestone',
  'Cumulative realized PnL of a tracked wallet crossed a positive or negative milestone.',
  walletPnlMilestoneData,
)
