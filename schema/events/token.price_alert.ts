import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { network, percent, symbol, tokenAddress, usd } from '../fields.ts'

/** `data` of `token.price_alert` (R93, R104). Unknown fields are kept (R125). */
const tokenPriceAlertData = z.looseObject({
  token_address: tokenAddress,
  network,
  symbol,
  alert_type: z.enum(['price_above', 'price_below']).describe('Which way the price crossed the threshold.'),
  threshold_usd: usd.describe('The configured price in USD.'),
  current_price_usd: usd.describe('The price in USD that crossed it.'),
  change_pct_24h: percent.describe('Price change over 24 hours, percent.'),
})

/** A whole `token.price_alert` event (R93, R104). */
export const tokenPriceAlertEvent = toEventSchema(
  'token.price_alert',
  'Token price crossed a configured threshold.',
  tokenPriceAlertData,
)
