import { InvalidArgumentError, Option, type Command } from 'commander'
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { durationForm, formatDuration } from '../emulator/duration.ts'
import { createEmulator } from '../emulator/emulator.ts'
import { builtInSeed, demoSeedName, readSeedFile } from '../emulator/seed/parse-seed.ts'
import type { Seed } from '../emulator/seed/schema.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { createLogger, safeText } from '../base/log.ts'
import { isLoopback } from '../base/loopback.ts'
import { duration, numberFrom, wholeNumberFrom } from './arguments.ts'
import { asControlCommand, openControl, type ControlOptions, type ControlClient } from './control-client.ts'
import { attemptLine, eventLine } from './follow-deliveries.ts'
import { printListening, startEmulator } from './emulator-listening.ts'
import { addEmulatorReplayCommand } from './emulator-replay.ts'
import type { Counts } from '../emulator/deliveries/delivery.ts'
import { drawSecret } from '../emulator/random.ts'
import { addEmulatorTailCommand } from './emulator-tail.ts'
import { fromCwd, host, untilSignal } from './host.ts'
import { counted, printNote, printResult, withExamples, type OutputOptions, createProgress } from './output.ts'
import { toShownAttempt } from '../emulator/control/deliveries.ts'
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
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly webhook?: string
  readonly secret?: string
  readonly rate: number
  readonly duplicates: number
  readonly count?: number
}

/** `onchain-inbox emulator`: the service on this machine, with its REST interface and its events (R1–R92). */
export function addEmulatorCommand(program: Command): void {
  const emulator = program
    .command('emulator')
    .description('Run the service on this machine: REST API, signed events, retries')
    .option('--host <name>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 = any free one', wholeNumberFrom(0, 65_535), 8090)
    .option('--seed <text>', 'the same seed gives the same world (default: demo, with published credentials)', seedName)
    .addOption(new Option('--seed-file <file>', 'file with the initial accounts, keys and settings').conflicts('seed'))
    .option('--history <duration>', `simulated time before the start: ${durationForm} (default: 24h)`, duration)
    .option('--activity <factor>', 'activity factor: 2 = twice as many events (default: 1)', numberFrom(0.001, 10_000))
    .option('--speed <number>', 'speed of the world clock: 60 = an hour per minute', numberFrom(0.001, 1_000_000))
    .addOption(new Option('--manual-clock', 'stop the world clock until `emulator advance`').conflicts('speed'))
    .option('--data <file>', 'keep accounts, world and deliveries in this file')
    .option('--tls-cert <file>', 'serve only HTTPS, with this certificate (PEM)')
    .option('--tls-key <file>', 'key of the certificate (PEM)')
    .option('--webhook <url>', 'send all events here: https, or http on this machine')
    .option('--secret <secret>', 'secret that signs them: @file, - for standard input, or env:NAME')
    .option('--rate <number>', 'extra events per second of world time', numberFrom(0, 100_000), 0)
    .option('--duplicates <share>', 'share of acknowledged events sent twice, 0 to 1', numberFrom(0, 1), 0)
    .option('--count <number>', 'stop when this many events are acknowledged or undelivered', wholeNumberFrom(1))
    .option('--json', 'print one JSON object per line')
    .action(async (options: EmulatorCommandOptions) => {
      // The output is a log: text unless --json is set.
      host().exitCode = await run(options)
    })
  withExamples(emulator, [
    'emulator',
    'emulator --webhook http://127.0.0.1:8080/webhooks --secret @secret.txt --count 100 --rate 20',
  ])
  addEmulatorAdvanceCommand(emulator)
  addEmulatorReplayCommand(emulator)
  addEmulatorTailCommand(emulator)
  addEmulatorSecretCommand(emulator)
}

async function run(options: EmulatorCommandOptions): Promise<0 | 1> {
  // A simulation makes short-lived garbage. By default V8 lets the heap grow to several times its used size.
  setFlagsFromString('--heap-growing-percent=30')
  setFlagsFromString('--semi-space-growth-factor=1')
  const seed = toSeed(options)
  const { webhook, secret } = options
  const endpoints = (webhook ?? secret) === undefined ? [] : [await readEndpoint('--webhook', webhook, secret)]
  const tls = await readTls(options)
  const { host, port, rate, count, duplicates } = options
  if (seed.controlToken === demoCredentials.controlToken && !isLoopback(host))
    printNote('warning: other machines can reach this emulator, and the keys of the demo seed are public')
  let eventCount = 0

  await using emulator = createEmulator({
    seed,
    endpoints,
    rate,
    duplicateRate: duplicates,
    log: createLogger({ level: 'error', pretty: options.json !== true }),
    listen: { host, port, ...(tls && { tls }) },
    onEvent(event) {
      eventCount++
      if (emulator.accounts.webhooks().length > 0) return
      const { id, type, created_at, data } = event
      printResult({ msg: 'event', id, type, created_at, data }, options, () => eventLine(event))
    },
    onAttempt(report) {
      const hasSeveral = emulator.accounts.webhooks().length > 1
      const attempt = toShownAttempt(report)
      printResult({ msg: 'attempt', ...attempt }, options, () => attemptLine(attempt, hasSeveral))
    },
    ...(options.data !== undefined && { dataFile: fromCwd(options.data) }),
    ...(count !== undefined && { count }),
  })
  const begun = await startEmulator(emulator)
  printListening(emulator, seed, begun, options)
  await untilSignal(emulator.finished())

  const { acknowledged, undelivered, pending } = emulator.deliveries.counts()
  const hasReceiver = emulator.accounts.webhooks().length > 0
  await emulator.stop()
  const summary = { msg: 'finished', events: eventCount, acknowledged, undelivered, unsettled: pending }
  printResult(summary, options, () =>
    hasReceiver || acknowledged + undelivered > 0
      ? `${acknowledged} acknowledged, ${undelivered} undelivered, ${summary.unsettled} not settled`
      : `${counted(eventCount, 'event')} arose; no webhook was registered`,
  )
  return count === undefined || !hasReceiver || acknowledged >= count ? 0 : 1
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

/** Reads the certificate and its key. Null = plain HTTP. */
async function readTls({ tlsCert, tlsKey }: EmulatorCommandOptions) {
  if (tlsCert === undefined && tlsKey === undefined) return null
  if (tlsCert === undefined || tlsKey === undefined)
    throw new InboxError('usage', '--tls-cert and --tls-key go together: the certificate and its key')
  try {
    const [cert, key] = await Promise.all([readFile(fromCwd(tlsCert), 'utf8'), readFile(fromCwd(tlsKey), 'utf8')])
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key }
    throw new Error('they belong to different pairs')
  } catch (error) {
    const message = `certificate ${tlsCert} and key ${tlsKey} must be PEM files of the same pair: ${messageOf(error)}`
    throw new InboxError('config_invalid', message, { cause: error })
  }
}

const maxSeedNameLength = 200

function seedName(text: string): string {
  if (text.length >= 1 && text.length <= maxSeedNameLength) return text
  throw new InvalidArgumentError(`Expected text of 1 to ${maxSeedNameLength} characters.`)
}

/** World time per request, so that no request takes too long. */
const stepMs = 3_600_000

/** `onchain-inbox emulator advance`: advances a manual clock; everything due happens and is delivered. */
function addEmulatorAdvanceCommand(emulator: Command): void {
  const advance = emulator
    .command('advance')
    .description('Advance the manual clock of a running emulator')
    .argument('<duration>', durationForm, duration)
  asControlCommand(advance, ['emulator advance 60s', 'emulator advance 8h']).action(
    async (ms: number, options: ControlOptions) => {
      const client = await openControl(options)
      const before = await client.counts()
      const clock = await advanceBy(client, ms)
      const after = await client.counts()
      printResult({ msg: 'advanced', ms, clock, ...difference(before, after) }, options, (result) => {
        const { attempts, acknowledged, failed, duplicates, undelivered, pending } = result
        return (
          `advanced by ${formatDuration(ms)} to ${clock.now}\n` +
          `${counted(attempts, 'attempt')}: ${acknowledged} acknowledged, ` +
          `${failed} failed, ${counted(duplicates, 'duplicate')}; ${undelivered} undelivered, ${pending} pending now`
        )
      })
    },
  )
}

async function advanceBy(client: ControlClient, ms: number) {
  using progress = createProgress()
  let clock = await client.advance(Math.min(ms, stepMs))
  for (let done = stepMs; done < ms; done += stepMs) {
    progress.show(done / ms, `at ${clock.now}`)
    clock = await client.advance(Math.min(ms - done, stepMs))
  }
  return clock
}

/** Attempts and results since `before`, and pending deliveries. */
function difference(before: Counts, after: Counts) {
  const attempts = after.attempts - before.attempts
  const acknowledged = after.acknowledged - before.acknowledged
  const duplicates = after.duplicates - before.duplicates
  return {
    attempts,
    acknowledged,
    failed: Math.max(0, attempts - duplicates - acknowledged),
    duplicates,
    undelivered: after.undelivered - before.undelivered,
    cancelled: after.cancelled - before.cancelled,
    pending: after.pending,
  }
}

interface SecretOptions extends ControlOptions {
  readonly set?: string
}

/** `onchain-inbox emulator secret`: changes a signing secret from the next attempt on (R76, A32). */
function addEmulatorSecretCommand(emulator: Command): void {
  const secret = emulator
    .command('secret')
    .description('Change the secret of a webhook')
    .argument('<webhook>', 'id of a webhook: `wh_…`')
    .option('--set <secret>', 'the new secret: @file, - for standard input, or env:NAME (default: a random one)')
  const examples = ['emulator secret wh_3k9x', 'emulator secret wh_3k9x --set @secret.txt']
  asControlCommand(secret, examples, 'A random secret is printed only once.').action(
    async (webhook: string, options: SecretOptions) => {
      const client = await openControl(options)
      const { set } = options
      const value =
        set === undefined ? drawSecret('whsec', randomBytes) : await readSecretArgument(set, { url: client.origin })
      const { webhookId, url } = await client.setWebhookSecret(webhook, value)
      const shown = set === undefined ? { secret: value } : {}
      printResult({ msg: 'secret', webhookId, url, ...shown }, options, () =>
        set === undefined
          ? `${value}  (of ${webhookId}, ${safeText(url)}; shown once)`
          : `${webhookId}, ${safeText(url)}: the secret is set`,
      )
    },
  )
}
