import { InvalidArgumentError, type Command } from 'commander'
import { systemClock } from '../clock.ts'
import { checkJunitFile, writeJunitFile } from '../conformance/junit-file.ts'
import { withoutCredentials } from '../conformance/report.ts'
import { runConformance } from '../conformance/run.ts'
import { scenarios } from '../conformance/scenarios.ts'
import { summaryJson, summaryText, verdictText } from '../conformance/text.ts'
import { InboxError } from '../errors.ts'
import { isLoopbackUrl } from '../loopback.ts'
import { printError, printResult, type OutputOptions } from './output.ts'
import { createProgress } from './progress.ts'
import { readSecretArgument } from './secret-argument.ts'
import { untilSignal } from './signals.ts'

interface ConformanceCommandOptions extends OutputOptions {
  readonly url: URL
  readonly secret: string
  readonly nextSecret?: string
  readonly signatureHeader?: string
  readonly effects?: string
  readonly restart?: string
  readonly only?: readonly string[]
  readonly skip?: readonly string[]
  readonly many?: number
  readonly timeout?: number
  readonly settle?: number
  readonly insecure?: boolean
  readonly junit?: string
}

const examples = `
Scenarios: ${scenarios.map(({ name }) => name).join(', ')}

Examples:
  $ onchain-inbox conformance --url http://127.0.0.1:8080/webhooks --secret env:WEBHOOK_SECRET --junit report.xml
  with all checks
    $ onchain-inbox conformance --url http://127.0.0.1:8080/webhooks --secret @secret.txt --next-secret @next.txt \\
        --effects 'cat effects.log' --restart 'docker restart my-receiver'
`

/**
 * `onchain-inbox conformance`: tells whether a receiver, in any language, keeps the rules. Exit 0 = yes, 1 = no, or nothing was
 * checked, 75 = not reached.
 */
export function addConformanceCommand(program: Command): void {
  program
    .command('conformance')
    .description('put a receiver of events, in any language, to the test by HTTP, and give a verdict for each rule')
    .requiredOption('--url <url>', 'where the receiver takes events', httpUrl)
    .requiredOption('--secret <secret>', 'what signs them: @file, - for standard input, or env:NAME')
    .option('--next-secret <secret>', 'a second secret that it takes at the same time: @file, - or env:NAME')
    .option(
      '--effects <url or command>',
      'what tells what it did: a URL to GET, or a shell command; an event id a line',
    )
    .option('--restart <command>', 'shell command that restarts it')
    .option('--only <scenarios>', 'these alone, separated by commas', names)
    .option('--skip <scenarios>', 'all but these, separated by commas', names)
    .option(
      '--many <number>',
      'events in a burst, and before a late duplicate (default: 1000)',
      wholeNumber(1, 100_000),
    )
    .option('--timeout <seconds>', 'how long an answer may take (default: 5)', seconds)
    .option('--settle <seconds>', 'how long its work may take until it is quiet (default: 30)', seconds)
    .option('--signature-header <name>', 'where the signature stands (default: X-Service-Signature)', headerName)
    .option('--insecure', 'take any TLS certificate')
    .option('--junit <file>', 'write a report for CI as well')
    .option('--json', 'print one JSON object per line, the last of them the summary')
    .addHelpText('after', examples)
    .action(async (options: ConformanceCommandOptions) => {
      try {
        // A report for people, which stands in the logs of CI, unless it is asked for as JSON.
        process.exitCode = await run({ ...options, table: true })
      } catch (error) {
        process.exitCode = printError(error, options)
      }
    })
}

async function run(options: ConformanceCommandOptions): Promise<0 | 1 | 75> {
  const {
    url,
    only,
    skip,
    effects,
    restart,
    many,
    signatureHeader,
    timeout,
    settle,
    junit,
    insecure: isInsecure = false,
  } = options
  const secrets = await readSecrets(options)
  if (junit !== undefined) await checkJunitFile(junit)
  if (!isLoopbackUrl(url.href))
    process.stderr.write(
      `warning: ${withoutCredentials(url)} is not this machine: it gets some thousands of requests\n`,
    )
  const progress = createProgress()
  const ending = new AbortController()
  const running = runConformance({
    url,
    ...secrets,
    isInsecure,
    clock: systemClock,
    signal: ending.signal,
    onScenario: (done, name) => progress.show(done, name),
    onVerdict(verdict) {
      progress.end()
      printResult({ msg: 'verdict', ...verdict }, options, () => verdictText(verdict))
    },
    ...(only && { only }),
    ...(skip && { skip }),
    ...(effects !== undefined && { effects }),
    ...(restart !== undefined && { restart }),
    ...(many !== undefined && { many }),
    ...(signatureHeader !== undefined && { signatureHeader }),
    ...(timeout !== undefined && { timeoutMs: timeout * 1_000 }),
    ...(settle !== undefined && { settleMs: settle * 1_000 }),
  })
  // Whatever it ends with is looked at below.
  await untilSignal(running.then(() => {}).catch(() => {}))
  ending.abort()
  const report = await running.finally(() => progress.end())
  printResult(summaryJson(report), options, () => summaryText(report))
  if (junit !== undefined) await writeJunitFile(junit, report)
  return exitCodes[report.outcome]
}

const exitCodes = { passed: 0, failed: 1, unreachable: 75, interrupted: 75 } as const

async function readSecrets({ url, secret, nextSecret }: ConformanceCommandOptions) {
  if (secret === '-' && nextSecret === '-')
    throw new InboxError('usage', 'only one of the two secrets can come from standard input; give the other as @file')
  const place = { url: url.href }
  const secrets = {
    secret: await readSecretArgument(secret, place),
    ...(nextSecret !== undefined && { nextSecret: await readSecretArgument(nextSecret, place) }),
  }
  if (secrets.nextSecret === secrets.secret)
    throw new InboxError(
      'usage',
      '--next-secret is the same secret as --secret: a receiver that takes only one would pass as one that takes two; ' +
        'give its second one, or leave --next-secret out',
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

function headerName(text: string): string {
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(text)) return text
  throw new InvalidArgumentError('Expected the name of an HTTP header.')
}

function seconds(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= 3_600) return value
  throw new InvalidArgumentError('Expected a number of seconds above 0, at most 3600.')
}

function wholeNumber(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= low && value <= high) return value
    throw new InvalidArgumentError(`Expected a whole number from ${low} to ${high}.`)
  }
}
