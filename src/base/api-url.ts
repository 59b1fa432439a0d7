import { InboxError } from './errors.ts'
import { isLoopbackUrl } from './loopback.ts'

const version = 'v1'

/**
 * The base URL of the service as requests are built on it: with the prefix `/v1` exactly once, at its end, and no slash behind
 * it (R6). It may be given with or without that prefix and with slashes at its end.
 *
 * @throws InboxError `config_invalid` for what is no URL, for plain HTTP to another machine unless `allowInsecure` (R5), for
 * credentials, a query or a fragment, and for another version. The message never holds the URL, which may carry something secret.
 */
export function parseApiUrl(
  text: string,
  { allowInsecure = false }: { readonly allowInsecure?: boolean } = {},
): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null) throw refused('that is no absolute URL of the web')
  if (url.protocol === 'http:' && !allowInsecure && !isLoopbackUrl(text)) {
    throw refused('plain http would show the API key to everybody on the way; it is taken for this machine only')
  }
  if (url.username !== '' || url.password !== '') throw refused('a URL with a user name or password cannot be used')
  if (url.search !== '' || url.hash !== '') throw refused('expected nothing behind its path')
  return url.origin + withVersion(url.pathname.replace(/\/+$/, ''))
}

function withVersion(path: string): string {
  const segments = path.split('/')
  const versions = segments.filter((segment) => /^v\d+$/i.test(segment))
  if (versions.length === 0) return `${path}/${version}`
  if (versions.length === 1 && segments.at(-1) === version) return path
  throw refused(`of versions expected at most one /${version}, at its end`)
}

function refused(problem: string): InboxError {
  return new InboxError(
    'config_invalid',
    `the base URL of the service cannot be used: ${problem}; expected for example https://api.example.com/v1`,
    { details: { problem } },
  )
}
