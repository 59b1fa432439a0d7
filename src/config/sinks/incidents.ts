import { z } from 'zod'

/** The option `minSeverity`: events below it open nothing. */
export const minSeverity = z.enum(['info', 'warning', 'critical']).default('warning')
export const region = z.enum(['us', 'eu']).default('us')
