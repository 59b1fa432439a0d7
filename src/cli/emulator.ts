import { InvalidArgumentError, Option, type Command } from 'commander'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { systemClock } from '../base/clock.ts'
import { durationForm, formatDuration } from '../emulator/duration.ts'
import { createEmulator, type Emulator, type StartEndpoint } from '../emulator/emulator.ts'
import { builtInSeed, demoSeedName, readSeedFile } from '../emulator/seed/parse-seed.ts'
import type { Seed } from '../emulator/seed/schema.ts'
import { ownCertificate, passingCertificate, readCertificate, type TlsPair } from '../emulator/tls.ts'
import { InboxError } from '../base/errors.ts'
import { createLogger } from '../base/log.ts'
import { isLoopback } from '../base/loopback.ts'
import { duration, numberFrom, wholeNumberFrom } from './arguments.ts'
import { asControlCommand, withControl, type ControlOptions, type ControlClient } from './control-client.ts'
import { attemptJson, attemptLine, eventLine } from './follow-deliveries.ts'
import { printListening } from './emulator-listening.ts'
import { addEmulatorReplayCommand } from './emulator-replay.ts'
import type { Counts } from '../emulator/deliveries/port.ts'
import { drawSecret } from '../emulator/random.ts'
import { safeText } from '../base/log.ts'
import { addEmulatorTailCommand } from './emulator-tail.ts'
import { fromCwd, host, untilSignal } from './host.ts'
import { printResult, type OutputOptions } from './output.ts'
import { createProgress } from './screen.ts'
import { readEndpoint, readSecretArgument } from './secret-argument.ts'
import { demoCredentials } from '../base/demo-credentials.ts'

interface EmulatorCommandOptions extends OutputOptions {
  readonly host: string
  readonly port: number
  readonly seed?: string
  readonly seedFile?: string
  readonly speed?: number
  readonly manualClock?: boolean
  readonly history?: number
  readonly activity?: number
  readonly data?: string
  readonly tls?: boolean
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly webhook?: string
  readonly secret?: string
  readonly rate: number
  readonly duplicates: number
  readonly count?: number
}

/** `onchain-inbox emulator`: the whole service on this machine: its REST interface, and the events it sends (R1–R92). */
export function addEmulatorCommand(program: Command): void {
  const emulator = program
    .command('emulator')
    .description(
      'run the service on this machine: a simulated world, its REST interface, and signed events with retries',
    )
    .option('--host <name>', 'where it listens', '127.0.0.1')
    .option('--port <number>', '0 = a free one', wholeNumberFrom(0, 65_535), 8090)
    .option('--seed <text>', 'the same seed gives the same world (default: demo, with published credentials)', seedName)
    .addOption(new Option('--seed-file <file>', 'what to begin with: accounts, keys, settings …').conflicts('seed'))
    .option('--history <duration>', `how much has happened before: ${durationForm} (default: 24h)`, duration)
    .option('--activity <factor>', 'how busy everybody is (default: 1)', numberFrom(0.001, 10_000))
    .option('--speed <number>', 'how many times faster than the wall the world goes', numberFrom(0.001, 1_000_000))
    .addOption(new Option('--manual-clock', 'the world stands still until it is advanced').conflicts('speed'))
    .option('--data <file>', 'keep accounts and world in this file')
    .option('--tls', 'serve HTTPS alone, with a certificate of its own')
    .option('--tls-cert <file>', 'serve HTTPS alone, with this certificate (PEM)')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--webhook <url>', 'where all events go: https, or http to this machine')
    .option('--secret <secret>', 'what signs them: @file, - for standard input, or env:NAME')
    .option('--rate <number>', 'events per second of world time, beside those that arise', numberFrom(0, 100_000), 0)
    .option('--duplicates <share>', 'share of acknowledged events that come twice, 0 to 1', numberFrom(0, 1), 0.1)
    .option('--count <number>', 'end when this many events are acknowledged or undelivered', wholeNumberFrom(1))
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      '\nExamples:\n  $ onchain-inbox emulator\n' +
        '  $ onchain-inbox emulator --webhook http://127.0.0.1:8080/webhooks --secret @secret.txt --count 100 --rate 20\n',
    )
    .action(async (options: EmulatorCommandOptions) => {
      // What it prints is a log: for people unless it is asked for as JSON.
      host().exitCode = await run(options)
    })
  addEmulatorAdvanceCommand(emulator)
  addEmulatorReplayCommand(emulator)
  addEmulatorTailCommand(emulator)
  addEmulatorSecretCommand(emulator)
}

async function run(options: EmulatorCommandOptions): Promise<0 | 1> {
  // What it writes, keys above all, is for its own user only.
  process.umask(0o077)
  // What a simulation leaves behind is short-lived; left alone, V8 lets both generations of the heap grow to several times of what is in use.
  setFlagsFromString('--heap-growing-percent=30')
  setFlagsFromString('--semi-space-growth-factor=1')
  using cleanup = new DisposableStack()
  const seed = toSeed(options)
  const { webhook, secret } = options
  const endpoints = (webhook ?? secret) === undefined ? [] : [await readEndpoint('--webhook', webhook, secret)]
  const tls = await readTls(options, cleanup)
  const { host, port, rate, count, duplicates } = options
  warn(warningsBefore({ seed, endpoints, options }))
  let arisen = 0

  await using emulator = createEmulator({
    seed,
    endpoints,
    rate,
    duplicateRate: duplicates,
    log: createLogger({ level: 'error', pretty: options.json !== true }),
    listen: { host, port, ...(tls && { tls }) },
    onEvent(event) {
      arisen++
      if (emulator.accounts.allWebhooks().length > 0) return
      const { id, type, created_at, data } = event
      printResult({ msg: 'event', id, type, created_at, data }, options, () => eventLine(event))
    },
    onAttempt(report) {
      const areSeveral = emulator.accounts.allWebhooks().length > 1
      printResult(attemptJson(report), options, () => attemptLine(report, areSeveral))
    },
    ...(options.data !== undefined && { dataFile: fromCwd(options.data) }),
    ...(count !== undefined && { count }),
  })
  const progress = createProgress()
  const startedAt = emulator.world.now()
  const begun = await emulator
    .start((at, until) => {
      progress.show((at - startedAt) / Math.max(1, until - startedAt), 'the world comes to the present')
    })
    .finally(() => progress.end())
  warn(warningsAfter({ emulator, seed, count }))
  printListening({ emulator, seed, begun, certFile: tls?.certFile }, options)
  await untilSignal(emulator.finished())

  const { acknowledged, undelivered, pending } = emulator.deliveries.counts()
  const hasReceiver = emulator.accounts.allWebhooks().length > 0
  await emulator.stop()
  const summary = { msg: 'finished', events: arisen, acknowledged, undelivered, unsettled: pending }
  printResult(summary, options, () =>
    hasReceiver || acknowledged + undelivered > 0
      ? `${acknowledged} acknowledged, ${undelivered} undelivered, ${summary.unsettled} not settled`
      : `${arisen} ${arisen === 1 ? 'event' : 'events'} arose; no webhook was registered`,
  )
  return count === undefined || !hasReceiver || acknowledged >= count ? 0 : 1
}

function warn(warnings: readonly string[]): void {
  for (const warning of warnings) host().stderr.write(`warning: ${warning}\n`)
}

function toSeed({ seed: name = demoSeedName, seedFile, ...options }: EmulatorCommandOptions): Seed {
  const seed = seedFile === undefined ? builtInSeed(name) : readSeedFile(fromCwd(seedFile))
  const { history, activity, speed, manualClock } = options
  return {
    ...seed,
    world: { ...seed.world, ...(history !== undefined && { history }), ...(activity !== undefined && { activity }) },
    clock: {
      ...seed.clock,
      ...(speed !== undefined && { mode: 'scaled', speed }),
      ...(manualClock && { mode: 'manual' }),
    },
  }
}

/** Null = plain HTTP. `certFile` is what clients are to trust, of a certificate that was made here. */
async function readTls(
  { tls, tlsCert, tlsKey, data }: EmulatorCommandOptions,
  cleanup: DisposableStack,
): Promise<(TlsPair & { certFile?: string }) | null> {
  if (tlsCert !== undefined && tlsKey !== undefined) return readCertificate(fromCwd(tlsCert), fromCwd(tlsKey))
  if (tlsCert !== undefined || tlsKey !== undefined) {
    throw new InboxError('usage', '--tls-cert and --tls-key go together: the certificate and its key')
  }
  if (tls !== true) return null
  if (data !== undefined) return ownCertificate(dirname(fromCwd(data)), systemClock.now())
  return cleanup.use(await passingCertificate(systemClock.now()))
}

const longestSeedName = 200

function seedName(text: string): string {
  if (text.length >= 1 && text.length <= longestSeedName) return text
  throw new InvalidArgumentError(`Expected text of 1 to ${longestSeedName} characters.`)
}

const shortestSecret = 16
const shownWallets = 3

interface Before {
  readonly seed: Seed
  readonly endpoints: readonly StartEndpoint[]
  readonly options: { readonly host: string }
}

/** Warnings about the options. */
function warningsBefore({ seed, endpoints, options: { host } }: Before): readonly string[] {
  const isDemo = seed.controlToken === demoCredentials.controlToken
  return [
    ...(isDemo && !isLoopback(host)
      ? ['other machines can reach this emulator, and everyone knows the keys of the demo seed']
      : []),
    ...endpoints.flatMap(({ secret }) =>
      secret === undefined || secret.length >= shortestSecret
        ? []
        : [`--secret has ${secret.length} characters; a receiver takes ${shortestSecret} or more`],
    ),
  ]
}

interface After {
  readonly emulator: Emulator
  readonly seed: Seed
  readonly count: number | undefined
}

/** Warnings about the world, once it exists. */
function warningsAfter({ emulator: { accounts, world }, seed, count }: After): readonly string[] {
  const { tracked } = seed
  const unseen = tracked.filter(({ network, wallet }) => world.views.findWallet(network, wallet) === null)
  const names = unseen.slice(0, shownWallets).map(({ network, wallet }) => `${wallet} (${network})`)
  const others = unseen.length > shownWallets ? ` and ${unseen.length - shownWallets} more` : ''
  return [
    ...(unseen.length > 0 && seed.world.history > 0
      ? [
          `tracked, but never traded in this world: ${names.join(', ')}${others}; REST does not know them until they do. ` +
            'GET /_emulator/world/wallets lists the wallets of this world',
        ]
      : []),
    ...(count !== undefined && accounts.allWebhooks().length === 0
      ? ['--count without a webhook: it ends after this many events, delivered to nobody']
      : []),
  ]
}

/** One request moves the clock by so much, so that none takes too long. */
const stepMs = 3_600_000

/** `onchain-inbox emulator advance`: moves a manual clock on; whatever falls due happens and is delivered. */
function addEmulatorAdvanceCommand(emulator: Command): void {
  const advance = emulator
    .command('advance')
    .description('move the manual clock of a running emulator on; whatever falls due happens, and is delivered')
    .argument('<duration>', durationForm, duration)
  asControlCommand(advance, ['emulator advance 60s', 'emulator advance 8h']).action(
    async (ms: number, options: ControlOptions) => {
      await withControl(options, async (client) => {
        const before = await client.counts()
        const clock = await advanceBy(client, ms)
        const after = await client.counts()
        // An extra attempt is no failure, but nobody counts them.
        const isRepeating = (await client.faults()).some(({ rule }) => rule.fault.kind.startsWith('duplicate'))
        printResult({ msg: 'advanced', ms, clock, ...difference(before, after) }, options, (result) => {
          const { attempts, acknowledged, failed, undelivered, pending } = result
          return (
            `${formatDuration(ms)} on, it is ${clock.now}\n` +
            `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${acknowledged} acknowledged, ` +
            `${failed} failed${isRepeating ? ' or made again' : ''}; ${undelivered} undelivered, ${pending} pending now`
          )
        })
      })
    },
  )
}

async function advanceBy(client: ControlClient, ms: number) {
  using progress = createProgress()
  let clock = await client.advance(Math.min(ms, stepMs))
  for (let done = stepMs; done < ms; done += stepMs) {
    progress.show(done / ms, `it is ${clock.now}`)
    clock = await client.advance(Math.min(ms - done, stepMs))
  }
  return clock
}

/** What has been done since, and what is still to be done. */
function difference(before: Counts, after: Counts) {
  const attempts = after.attempts - before.attempts
  const acknowledged = after.acknowledged - before.acknowledged
  return {
    attempts,
    acknowledged,
    failed: Math.max(0, attempts - acknowledged),
    undelivered: after.undelivered - before.undelivered,
    cancelled: after.cancelled - before.cancelled,
    pending: after.pending,
  }
}

interface SecretOptions extends ControlOptions {
  readonly alerts?: boolean
  readonly account?: string
  readonly set?: string
}

/** `onchain-inbox emulator secret`: another secret for what an emulator signs, from the next attempt on (R76, A32). */
function addEmulatorSecretCommand(emulator: Command): void {
  const secret = emulator
    .command('secret')
    .description('give a webhook, or the alerts of an account, another secret: the next attempts are signed with it')
    .argument('[webhook]', 'the id of a webhook, as `wh_…`')
    .option('--alerts', 'what alerts are signed with')
    .option('--account <name>', 'whose alerts: its id or name (default: the first)')
    .addOption(
      new Option(
        '--set <secret>',
        'this one in place of a drawn one: @file, - for standard input, or env:NAME',
      ).conflicts(['alerts']),
    )
  asControlCommand(secret, [
    'emulator secret wh_3k9x',
    'emulator secret wh_3k9x --set @secret.txt',
    'emulator secret --alerts',
  ])
    .addHelpText('after', '\nA drawn secret is printed once, and never shown again.')
    .action(async (webhook: string | undefined, options: SecretOptions) => {
      await withControl(options, async (client) => {
        const { alerts = false, account, set } = options
        if (alerts === (webhook !== undefined)) {
          throw new InboxError('usage', 'expected either the id of a webhook, or --alerts')
        }
        if (account !== undefined && !alerts) throw new InboxError('usage', '--account goes with --alerts')
        if (webhook === undefined) {
          const { alertSecret } = await client.drawAlertSecret(account)
          printResult({ msg: 'secret', alertSecret }, options, () => `${alertSecret}  (of the alerts; shown once)`)
          return
        }
        const value = set === undefined ? drawSecret('whsec', randomBytes) : await readGiven(set, options)
        const { webhookId, url } = await client.setWebhookSecret(webhook, value)
        const shown = set === undefined ? { secret: value } : {}
        printResult({ msg: 'secret', webhookId, url, ...shown }, options, () =>
          set === undefined
            ? `${value}  (of ${webhookId}, ${safeText(url)}; shown once)`
            : `${webhookId}, ${safeText(url)}: the secret is set`,
        )
      })
    })
}

/** The control token may come from standard input as well, but not both. */
function readGiven(argument: string, { emulator, token }: SecretOptions): Promise<string> {
  if (argument === '-' && token === '-') {
    throw new InboxError('usage', 'only one of --set and --token can come from standard input')
  }
  return readSecretArgument(argument, { url: emulator ?? 'http://127.0.0.1' })
}
