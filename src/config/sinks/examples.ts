import type { SinkKind } from './kinds.ts'

/** What options are to be, and an example, where the schema has no words of its own. */
const common: Readonly<Record<string, readonly [what: string, example: string]>> = {
  concurrency: ['a whole number', '4'],
  rate: ['a number of items per second', '10'],
  timeoutMs: ['milliseconds', '30000'],
  retry: ['an object of numbers', '{ attempts: 50, baseMs: 1000, capMs: 600000 }'],
  batch: ['a whole number', '100'],
  breaker: ['false, or an object of numbers', '{ failures: 5, cooldownMs: 5000, capMs: 300000 }'],
  where: ['an object of conditions by path', "{ 'data.amount_usd': { gte: 1000 } }"],
  templates: ['an object of texts by event type', "{ 'wallet.*': '{title}' }"],
  token: ['a token, as text', "{ env: 'TOKEN' }"],
  chatId: ['the number of a chat, or @channel', '-1001234567890'],
  routingKey: ['an integration key, as text', "{ env: 'PAGERDUTY_KEY' }"],
  apiKey: ['the key of an integration, as text', "{ env: 'OPSGENIE_KEY' }"],
  from: ['an address', "'inbox@example.com'"],
  to: ['an address, or a list of these', "'desk@example.com'"],
  command: ['a list: the program and its arguments', "['./notify.sh', '--quiet']"],
  cwd: ['the path of a folder', "'./scripts'"],
  env: ['an object of texts by name', "{ LEVEL: 'high' }"],
  path: ['the path of a file', "'./events.ndjson'"],
  maxBytes: ['a size in bytes, or with its unit', "'100mb'"],
  keep: ['a whole number', '10'],
  servers: ['host:port, or a list of these', "'127.0.0.1:4222'"],
  brokers: ['host:port, or a list of these', "['127.0.0.1:9092']"],
  headers: ['an object of texts by name', "{ 'X-Team': 'desk' }"],
  terminalStatuses: ['a list of statuses', '[410, 422]'],
  terminalExitCodes: ['a list of exit codes', '[2]'],
  statementTimeoutMs: ['milliseconds', '10000'],
  connections: ['a whole number', '2'],
}

const urls: Readonly<Partial<Record<SinkKind, string>>> = {
  forward: "'http://127.0.0.1:3000/webhooks'",
  slack: "'https://hooks.slack.com/services/…'",
  discord: "'https://discord.com/api/webhooks/…'",
  email: "'smtps://user:password@smtp.example.com:465'",
  sql: "'sqlite:./events.db'",
  redis: "'redis://127.0.0.1:6379'",
}

/** What an option of a kind is to be, and an example of it; undefined where there is none. */
export function exampleOf(option: string, kind: SinkKind): readonly [what: string, example: string] | undefined {
  const url = urls[kind]
  if (option === 'url' && url !== undefined) return [kind === 'forward' ? 'an http or https URL' : 'a URL', url]
  return Object.hasOwn(common, option) ? common[option] : undefined
}
