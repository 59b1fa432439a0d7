import { InboxError } from '../../errors.ts'

/** Where an endpoint is. Throws `usage` for what is no http URL. */
export function toTarget(url: string): URL {
  const target = URL.canParse(url) ? new URL(url) : null
  if (target?.protocol === 'http:' || target?.protocol === 'https:') return target
  throw new InboxError('usage', `webhook URL: expected http:// or https://, received ${JSON.stringify(url)}`)
}
