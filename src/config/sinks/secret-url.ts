import { z } from 'zod'
import { isLoopbackUrl } from '../../loopback.ts'

/** A URL that something secret is sent to, or that is a secret itself: encrypted, but for this machine. */
export const secretUrl = z.string().refine(
  (text) => {
    const url = URL.parse(text)
    if (url === null || url.username !== '' || url.password !== '') return false
    return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(text))
  },
  { error: 'expected an https URL without user name and password (http only for this machine)' },
)

/** The same, for what paths are put behind. */
export const secretBaseUrl = secretUrl
  .refine((text) => !/[?#]/.test(text), { error: 'expected a base URL without query or fragment' })
  .transform((text) => text.replace(/\/+$/, ''))
