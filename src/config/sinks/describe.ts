import type { SinkKind } from './kinds.ts'
import type { RouteFilter } from './routes.ts'

/** What says where a sink of this kind leads: the options of that name, in this order. */
const telling: { readonly [K in SinkKind]: readonly string[] } = {
  forward: ['url'],
  slack: ['url'],
  discord: ['url'],
  telegram: ['chatId'],
  pagerduty: ['region'],
  opsgenie: ['region', 'team'],
  email: ['url', 'to'],
  exec: ['command'],
  file: ['path'],
  sql: ['url'],
  nats: ['servers', 'stream', 'subject'],
  redis: ['url', 'stream'],
  kafka: ['brokers', 'topic'],
}

/**
 * Where a sink leads, for people, without anything secret. `shown` are its options with the names of references in the place of
 * what they refer to.
 */
export function describeTarget(kind: SinkKind, shown: Readonly<Record<string, unknown>>): string {
  const values = telling[kind].map((name) => shown[name]).filter((value) => value !== undefined)
  // The arguments of a command may hold what is secret, as may the query of a URL, and its path where that alone lets one in.
  if (kind === 'exec') return `${[values].flat(2).map(String)[0]} …`
  return values
    .map((value) =>
      [value]
        .flat()
        .map((one) => describeValue(one, kind === 'forward'))
        .join(','),
    )
    .join(' ')
}

function describeValue(value: unknown, hasPath: boolean): string {
  const text = String(value)
  const url = URL.parse(text)
  if (url === null || url.host === '') return text
  return `${url.protocol}//${url.host}${hasPath ? url.pathname : ''}`
}

/** Which events go to a sink by themselves, for people. */
export function describeRoutes(routes: readonly RouteFilter[]): string {
  if (routes.length === 0) return 'what handlers enqueue'
  return routes.map(describeRoute).join('; ')
}

function describeRoute({ types, networks, where }: RouteFilter): string {
  const on = networks === undefined ? '' : ` on ${networks.join(', ')}`
  const by = where.length === 0 ? '' : ` by ${where.map(({ path }) => path).join(', ')}`
  return `${types.join(', ')}${on}${by}`
}
