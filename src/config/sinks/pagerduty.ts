import { z } from 'zod'
import { minSeverity, region } from './incidents.ts'
import { secretBaseUrl } from './secret-url.ts'

/** Events become alerts of a PagerDuty service, by the Events API v2. */
export const pagerdutyOptions = z
  .strictObject({
    routingKey: z.string().regex(/^[A-Za-z0-9]{32}$/, { error: 'expected the 32 characters of an integration key' }),
    minSeverity,
    /** What the alerts say they come from. */
    source: z.string().min(1).max(255).default('onchain-inbox'),
    region,
    /** Default: that of the region. */
    baseUrl: secretBaseUrl.optional(),
  })
  .transform(({ region: where, baseUrl, ...rest }) => ({
    ...rest,
    baseUrl: baseUrl ?? `https://events.${where === 'eu' ? 'eu.' : ''}pagerduty.com`,
  }))

export type PagerdutyOptions = z.output<typeof pagerdutyOptions>
