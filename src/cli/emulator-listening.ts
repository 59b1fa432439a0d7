import { demoCredentials } from '../base/demo-credentials.ts'
import { formatDuration } from '../emulator/duration.ts'
import type { Begun, Emulator } from '../emulator/emulator.ts'
import type { Seed } from '../emulator/seed/schema.ts'
import { safeText } from '../base/log.ts'
import { printResult, type OutputOptions } from './output.ts'
import { createProgress } from './screen.ts'

export interface Listening {
  readonly emulator: Emulator
  readonly seed: Seed
  readonly begun: Begun
  /** Certificate file that clients must trust, if it was created here. */
  readonly certFile: string | undefined
}

/** Starts an emulator, with a progress line while it simulates the past. */
export async function startEmulator(emulator: Emulator): Promise<Begun> {
  using progress = createProgress()
  const startedAt = emulator.world.now()
  return await emulator.start((at, until) =>
    progress.show((at - startedAt) / Math.max(1, until - startedAt), 'simulating the past'),
  )
}

/** Prints the addresses and initial state of an emulator. Drawn secrets are shown only here (R68), secrets of the seed only if published. */
export function printListening(listening: Listening, options: OutputOptions): void {
  printResult(toResult(listening), options, (result) => toLines(result, listening).join('\n'))
}

type Result = ReturnType<typeof toResult>

function toResult({ emulator, seed, begun: { isNew, drawn }, certFile }: Listening) {
  const isDemo = hasPublishedKeys(seed)
  const apiKey = isDemo ? demoCredentials.apiKey : drawn.find(({ kind }) => kind === 'api-key')?.value
  const others = drawn.filter(({ value }) => value !== apiKey)
  const { mode, speed, now } = emulator.clock.state()
  const { accounts } = emulator
  return {
    msg: 'listening',
    url: emulator.url,
    apiKey,
    controlToken: isDemo || seed.controlToken === undefined ? emulator.controlToken : undefined,
    dashboard: {
      url: `${emulator.url}/`,
      user: emulator.login.user,
      ...((isDemo || seed.dashboard === undefined) && { password: emulator.login.password }),
    },
    certFile,
    drawn: others.length > 0 ? others : undefined,
    accounts: accounts.accounts().map(({ accountId, name, plan }) => {
      const valid = accounts.keys(accountId).filter(({ revokedAt }) => revokedAt === null)
      return { name, plan, keys: valid.map((key) => key.name) }
    }),
    webhooks: accounts.allWebhooks().map(({ url, events }) => ({ url, events })),
    clock: { mode, speed, now: new Date(now).toISOString() },
    world: { seed: seed.world.seed, isNew, ...(isNew && { history: formatDuration(seed.world.history) }) },
  }
}

function toLines(result: Result, { emulator, seed }: Listening): readonly string[] {
  const { url, apiKey, controlToken, dashboard, certFile, drawn = [], accounts, webhooks, world } = result
  const isDemo = hasPublishedKeys(seed)
  const once = isDemo ? '' : '  (shown once)'
  const tokenNote = isDemo ? '' : '  (drawn at each start, unless the seed file sets controlToken)'
  const past = world.isNew ? `${world.history} of history` : 'as it was left'
  const lines: readonly (readonly [string, string | null])[] = [
    ['api key', apiKey === undefined ? null : `${apiKey}${once}`],
    ...drawn.map(
      ({ kind, of, value }) => [kind.replace('-', ' '), `${value}  (of ${safeText(of)}; shown once)`] as const,
    ),
    ['api keys', apiKey === undefined ? whichKeys(result) : null],
    ['control token', controlToken === undefined ? 'as in the seed file' : `${controlToken}${tokenNote}`],
    ['dashboard', `${dashboard.url}  (${loginText(result, seed)})`],
    ['certificate', certFile === undefined ? null : `${certFile}  (clients trust it: NODE_EXTRA_CA_CERTS=${certFile})`],
    ['accounts', firstFew(accounts, accountText) ?? createAccountHint],
    ['webhooks', firstFew(webhooks, webhookText) ?? 'none yet; --webhook and --secret, or POST /v1/webhooks'],
    ['world', `seed ${safeText(world.seed, 60)}, ${past}, ${clockText(result)}`],
    ['routes', `GET ${url}/_emulator lists the control routes (needs the control token)`],
    ['try', exampleOf(emulator, result)],
  ]
  const shown = lines.flatMap(([label, text]) => (text === null ? [] : [`  ${label.padEnd(14)} ${text}`]))
  return [`listening on ${url}/v1`, ...shown]
}

function loginText({ dashboard: { user, password } }: Result, seed: Seed): string {
  if (password === undefined) return `user ${safeText(user)}, password as in the seed file`
  const note = seed.dashboard === undefined ? '; drawn at each start, unless the seed file sets dashboard' : ''
  return `user ${safeText(user)}, password ${password}${note}`
}

/** Explains which keys are valid when none is shown; null if there are none. */
function whichKeys({ world, accounts }: Result): string | null {
  if (!world.isNew) return 'earlier keys stay valid; POST /_emulator/keys creates one'
  return accounts.some(({ keys }) => keys.length > 0) ? 'as in the seed file' : null
}

const createAccountHint =
  'none yet; POST /_emulator/accounts {"name":"desk","plan":"pro"}, then ' +
  'POST /_emulator/keys {"account":"desk","name":"first","scopes":"all"}'

const shownItems = 3

function firstFew<T>(items: readonly T[], toText: (item: T) => string): string | null {
  if (items.length === 0) return null
  const others = items.length > shownItems ? [`and ${items.length - shownItems} more`] : []
  return [...items.slice(0, shownItems).map(toText), ...others].join('; ')
}

function accountText({ name, plan, keys }: Result['accounts'][number]): string {
  const names = keys.length === 0 ? 'no key' : `${keys.length === 1 ? 'key' : 'keys'} ${keys.join(', ')}`
  return safeText(`${name} (${plan}, ${names})`)
}

function webhookText({ url, events }: Result['webhooks'][number]): string {
  return safeText(`${url} → ${events.includes('*') ? 'all events' : events.join(', ')}`)
}

function clockText({ clock: { mode, speed, now } }: Result): string {
  if (mode === 'manual') return `the clock stands still at ${now}; POST /_emulator/clock/advance {"ms":60000} moves it`
  return mode === 'scaled' ? `the clock goes ×${speed}` : 'the clock is real'
}

/** A command that works as printed, except for a hidden key. */
function exampleOf({ world: { views } }: Emulator, { url, apiKey, certFile }: Result): string {
  const wallet = views.trackedWallets().find(({ network, address }) => views.findWallet(network, address) !== null)
  const path = wallet === undefined ? '/networks' : `/wallets/${wallet.address}?network=${wallet.network}`
  const trust = certFile === undefined ? '' : `--cacert ${certFile} `
  const header = apiKey === undefined ? '"Authorization: Bearer $KEY"' : `'Authorization: Bearer ${apiKey}'`
  return `curl ${trust}-H ${header} '${url}/v1${path}'`
}

function hasPublishedKeys({ controlToken }: Seed): boolean {
  return controlToken === demoCredentials.controlToken
}
