import { InvalidArgumentError, type Command } from 'commander'
import { InboxError } from '../../base/errors.ts'
import { isLoopbackUrl } from '../../base/loopback.ts'
import { numberFrom, wholeNumberFrom } from '../arguments.ts'
import { host, runUntilSignal } from '../host.ts'
import { printResult, type OutputOptions } from '../output.ts'
import { readSecretArgument } from '../secret-argument.ts'
import { runConformance, withoutCredentials, type Report, type Verdict } from './run.ts'
import { scenarios } from './scenarios.ts'

interface ConformanceCommandOptions extends OutputOptions {
  readonly url: URL
  readonly secret: string
  readonly nextSecret?: string
  readonly effects?: string
  readonly restart?: string
  readonly only?: readonly string[]
  readonly many?: number
  readonly timeout?: number
  readonly settle?: number
}

const seconds = numberFrom(0.001, 3_600)

const examples = `
Scenarios: ${Object.keys(scenarios).join(', ')}

Examples:
  $ onchain-inbox conformance --url http://127.0.0.1:8080/webhooks --secret env:WEBHOOK_SECRET
  with all checks
    $ onchain-inbox conformance --url http://127.0.0.1:8080/webhooks --secret @secret.txt --next-secret @next.txt \\
        --effects 'cat effects.log' --restart 'docker restart my-receiver'
`

/** `onchain-inbox conformance`. Exit 0: no rule failed; 1: one failed, or nothing was checked; 75: not reached, or interrupted. */
export function addConformanceCommand(program: Command): void {
  program
    .command('conformance')
    .description('Test a receiver in any language over HTTP')
    .requiredOption('--url <url>', 'URL at which the receiver accepts events', httpUrl)
    .requiredOption('--secret <secret>', 'signing secret of the receiver: @file, - for standard input, or env:NAME')
    .option('--next-secret <secret>', 'a second secret that the receiver accepts: @file, - or env:NAME')
    .option('--effects <url or command>', 'URL or shell command that prints the id of each processed event')
    .option('--restart <command>', 'shell command that restarts the receiver')
    .option('--only <scenarios>', 'run these scenarios, separated by commas', names)
    .option(
      '--many <number>',
      'events in a burst, and before a late duplicate (default: 1000)',
      wholeNumberFrom(1, 100_000),
    )
    .option('--timeout <seconds>', 'time limit of an answer (default: 5)', seconds)
    .option('--settle <seconds>', 'time limit until all work is done (default: 30)', seconds)
    .option('--json', 'print one JSON object per line, the summary last')
    .addHelpText('after', examples)
    .action(async (options: ConformanceCommandOptions) => {
      // CI logs get the text report unless --json is set.
      host().exitCode = await run(options)
    })
}

const exitCodes = { passed: 0, failed: 1, unreachable: 75, interrupted: 75 } as const

async function run(options: ConformanceCommandOptions): Promise<0 | 1 | 75> {
  const { url, timeout, settle } = options
  const secrets = await readSecrets(options)
  if (!isLoopbackUrl(url.href))
    host().stderr.write(
      `warning: ${withoutCredentials(url)} is not this machine, and will get over a thousand requests\n`,
    )
  const report = await runUntilSignal((signal) =>
    runConformance({
      ...options,
      ...secrets,
      timeoutMs: timeout && timeout * 1_000,
      settleMs: settle && settle * 1_000,
      signal,
      onVerdict: (verdict) => printResult({ msg: 'verdict', ...verdict }, options, () => verdictText(verdict)),
    }),
  )
  const { verdicts: _, ...summary } = report
  printResult({ msg: 'finished', ...summary }, options, () => summaryText(report))
  return exitCodes[report.outcome]
}

async function readSecrets({ url, secret, nextSecret }: ConformanceCommandOptions) {
  if (secret === '-' && nextSecret === '-')
    throw new InboxError('usage', 'only one of the two secrets can come from standard input; give the other as @file')
  const place = { url: url.href }
  const secrets = {
    secret: await readSecretArgument(secret, place),
    nextSecret: nextSecret === undefined ? undefined : await readSecretArgument(nextSecret, place),
  }
  if (secrets.nextSecret === secrets.secret)
    throw new InboxError(
      'usage',
      '--next-secret is the same secret as --secret: a receiver that accepts only one would pass. ' +
        'Give its second secret, or omit --next-secret',
    )
  return secrets
}

function httpUrl(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new InvalidArgumentError('Expected a URL that begins with http:// or https://.')
}

function names(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim())
}

const verdictWidth = 'not checked'.length
const scenarioWidth = 'out-of-order'.length

/** A verdict in one line, with details below a failure. */
function verdictText({ verdict, scenario, rule, detail }: Verdict): string {
  const line = `${verdict.padEnd(verdictWidth)}  ${scenario.padEnd(scenarioWidth)}  ${rule}`
  if (verdict === 'passed') return line
  if (verdict === 'not checked') return `${line}: ${detail}`
  const indent = ' '.repeat(verdictWidth + 2)
  return [line, ...detail.split('\n').map((part) => `${indent}${part}`)].join('\n')
}

function summaryText({ outcome, reason, passed, failed, notChecked, ms }: Report): string {
  const counts = `${passed} passed, ${failed} failed, ${notChecked} not checked, in ${(ms / 1_000).toFixed(1)} s`
  return outcome === 'passed' || reason === null ? counts : `${counts}: ${reason}`
}
