import { InboxError } from '../../base/errors.ts'

/** Where an endpoint is. Throws `usage`, without the URL, for one that is not http or has a user name or password. */
export function toTarget(url: string): URL {
  const target = URL.parse(url)
  const isUsable = target !== null && /^https?:$/.test(target.protocol) && target.username + target.password === ''
  if (isUsable) return target
  throw new InboxError('usage', 'webhook URL: expected http:// or https://, without user name and password')
}
