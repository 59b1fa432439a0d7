import { z } from 'zod'
import { minSeverity, region } from './incidents.ts'
import { secretBaseUrl } from './secret-url.ts'

/** Events become alerts of Opsgenie. */
export const opsgenieOptions = z
  .strictObject({
    apiKey: z.string().regex(/^[\w-]{8,200}$/, { error: 'expected the key of an API integration' }),
    minSeverity,
    /** Who is told; default: whom the integration names. */
    team: z.string().min(1).max(100).optional(),
    tags: z.array(z.string().min(1).max(50)).max(18).default([]),
    region,
    /** Default: that of the region. */
    baseUrl: secretBaseUrl.optional(),
  })
  .transform(({ region: where, baseUrl, ...rest }) => ({
    ...rest,
    baseUrl: baseUrl ?? `https://api.${where === 'eu' ? 'eu.' : ''}opsgenie.com`,
  }))

export type OpsgenieOptions = z.output<typeof opsgenieOptions>
