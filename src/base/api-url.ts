import { InboxError } from './errors.ts'
import { isLoopbackUrl } from './loopback.ts'

const version = 'v1'

/**
 * Normalizes the base URL of the upstream REST API: exactly one `/v1` at the end, and no trailing slash (R6). The input
 * may lack the prefix and may have trailing slashes.
 *
 * @throws InboxError `config_invalid` if it is not a URL, has credentials, a query, a fragment or another version, or
 * is plain HTTP to another machine without `allowInsecure` (R5). The message never contains the URL, which may hold a
 * secret.
 */
export function parseApiUrl(
  text: string,
  { allowInsecure = false }: { readonly allowInsecure?: boolean } = {},
): string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null) throw invalidUrl('not an absolute http or https URL')
  if (url.protocol === 'http:' && !allowInsecure && !isLoopbackUrl(text)) {
    throw invalidUrl('plain http exposes the API key, and is allowed for this machine only')
  }
  if (url.username !== '' || url.password !== '') throw invalidUrl('it contains a user name or password')
  if (url.search !== '' || url.hash !== '') throw invalidUrl('it has a query or fragment')
  return url.origin + withVersion(url.pathname.replace(/\/+$/, ''))
}

function withVersion(path: string): string {
  const segments = path.split('/')
  const versions = segments.filter((segment) => /^v\d+$/i.test(segment))
  if (versions.length === 0) return `${path}/${version}`
  if (versions.length === 1 && segments.at(-1) === version) return path
  throw invalidUrl(`expected at most one version, /${version} at the end`)
}

function invalidUrl(problem: string): InboxError {
  return new InboxError(
    'config_invalid',
    `invalid base URL of the service: ${problem}; expected for example https://api.example.com/v1`,
    { details: { problem } },
  )
}
