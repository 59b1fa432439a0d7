import { InvalidArgumentError, type Command } from 'commander'
import { open, writeFile } from 'node:fs/promises'
import { InboxError, messageOf } from '../../base/errors.ts'
import { isLoopbackUrl } from '../../base/loopback.ts'
import { numberFrom, wholeNumberFrom } from '../arguments.ts'
import { fromCwd, host, runUntilSignal } from '../host.ts'
import { printResult, type OutputOptions, createProgress } from '../output.ts'
import { readSecretArgument } from '../secret-argument.ts'
import { runConformance, withoutCredentials, type Report, type Verdict } from './run.ts'
import { scenarios } from './scenarios.ts'

interface ConformanceCommandOptions extends OutputOptions {
  readonly url: URL
  readonly secret: string
  readonly nextSecret?: string
  readonly signatureHeader?: string
  readonly effects?: string
  readonly restart?: string
  readonly only?: readonly string[]
  readonly many?: number
  readonly timeout?: number
  readonly settle?: number
  readonly insecure?: boolean
  readonly junit?: string
}

const seconds = numberFrom(0.001, 3_600)

const examples = `
Scenarios: ${Object.keys(scenarios).join(', ')}

Examples:
  $ onchain-inbox conformance --url http://127.0.0.1:8080/webhooks --secret env:WEBHOOK_SECRET --junit report.xml
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
    .option('--signature-header <name>', 'header of the signature (default: X-Service-Signature)', headerName)
    .option('--insecure', 'accept any TLS certificate')
    .option('--junit <file>', 'also write a JUnit report for CI')
    .option('--json', 'print one JSON object per line, the summary last')
    .addHelpText('after', examples)
    .action(async (options: ConformanceCommandOptions) => {
      // CI logs get the text report unless --json is set.
      host().exitCode = await run(options)
    })
}

const exitCodes = { passed: 0, failed: 1, unreachable: 75, interrupted: 75 } as const

async function run(options: ConformanceCommandOptions): Promise<0 | 1 | 75> {
  const { url, junit, timeout, settle, insecure: isInsecure = false } = options
  const secrets = await readSecrets(options)
  if (junit !== undefined) await onJunitFile(junit, async () => (await open(junit, 'a')).close())
  if (!isLoopbackUrl(url.href))
    host().stderr.write(
      `warning: ${withoutCredentials(url)} is not this machine, and will get over a thousand requests\n`,
    )
  const progress = createProgress()
  const report = await runUntilSignal((signal) =>
    runConformance({
      ...options,
      ...secrets,
      isInsecure,
      timeoutMs: timeout && timeout * 1_000,
      settleMs: settle && settle * 1_000,
      signal,
      onScenario: (done, name) => progress.show(done, name),
      onVerdict(verdict) {
        progress.end()
        printResult({ msg: 'verdict', ...verdict }, options, () => verdictText(verdict))
      },
    }),
  ).finally(() => progress.end())
  const { verdicts: _, ...summary } = report
  printResult({ msg: 'finished', ...summary }, options, () => summaryText(report))
  if (junit !== undefined) await onJunitFile(junit, () => writeFile(fromCwd(junit), toJunit(report)))
  return exitCodes[report.outcome]
}

/** @throws InboxError `usage` if the file can't be written */
async function onJunitFile(file: string, write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (cause) {
    const message = `--junit: ${file} cannot be written (${messageOf(cause)}): name a file in an existing folder`
    throw new InboxError('usage', message, { cause })
  }
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

function headerName(text: string): string {
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(text)) return text
  throw new InvalidArgumentError('Expected the name of an HTTP header.')
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

/** A report in the JUnit format of CI systems: a case per verdict. `not checked` is skipped. An incomplete run has an error in addition. */
export function toJunit({ url, reason, failed, notChecked, ms, verdicts }: Report): string {
  const incomplete = reason === null ? [] : [element('error', { message: reason })]
  const cases = [
    ...verdicts.map(testCase),
    ...incomplete.map((error) => element('testcase', { classname: 'run', name: 'the run is complete' }, error)),
  ]
  const name = `onchain-inbox conformance of ${url}`
  const counts = { tests: cases.length, failures: failed, errors: incomplete.length, skipped: notChecked }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuite', { name, ...counts, time: inSeconds(ms) }, cases.join(''))}`
}

function testCase({ scenario, rule, verdict, detail, ms }: Verdict): string {
  const inner = {
    passed: '',
    failed: element('failure', { message: rule }, escape(detail)),
    'not checked': element('skipped', { message: detail }),
  }
  return element('testcase', { classname: scenario, name: rule, time: inSeconds(ms) }, inner[verdict])
}

function element(name: string, attributes: Readonly<Record<string, string | number>>, content = ''): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(String(value))}"`)
  return `<${name}${pairs.join('')}>${content}</${name}>\n`
}

function inSeconds(ms: number): string {
  return (ms / 1_000).toFixed(3)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text for XML 1.0. Characters that XML can't hold, such as most control characters, are written as \u0000. */
function escape(value: string): string {
  return (
    value
      .toWellFormed()
      .replaceAll(/[&<>"]/g, (character) => entities[character] ?? '')
      .replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)
      // eslint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, (character) => {
        return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      })
  )
}
