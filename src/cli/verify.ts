import type { Command } from 'commander'
import { systemClock } from '../base/clock.ts'
import { errorCatalogue, InboxError } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { explain } from '../signature/explain.ts'
import { createInflater } from '../receiver/inflate.ts'
import { parseSecrets, parseSecretsFile, type Secret } from '../signature/keys.ts'
import { explainSource } from '../sources/explain.ts'
import { time } from './arguments.ts'
import { readSource } from './configured-source.ts'
import { host } from './host.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { readBytesArgument, readSecretArgument, readSignatureArgument } from './secret-argument.ts'
import { withConfigOption, type ConfigOption } from './settings.ts'

interface VerifyCommandOptions extends OutputOptions, ConfigOption {
  readonly secret?: string
  readonly body: string
  readonly signature?: string
  readonly source?: string
  readonly headers?: string
  readonly target?: string
  readonly at?: string
}

const examples = `
Examples:
  a delivery whose body and signature header were saved to files
    $ onchain-inbox verify --secret @secret.txt --body @body.json --signature @signature.txt
  with all secrets of the sidecar
    $ onchain-inbox verify --secret env:INBOX_SECRETS --body @body.json --signature @signature.txt
    $ onchain-inbox verify --secret @/run/secrets/inbox --body @body.json --signature @signature.txt
  a stored event, with its exact bytes
    $ onchain-inbox events show evt_01jgfj3k8m0q2s4v6x8z0b2d4f --raw |
        onchain-inbox verify --secret env:INBOX_SECRETS --body - --signature @signature.txt
  a delivery to a source of the settings, with its headers as lines \`name: value\`
    $ onchain-inbox verify --source alchemy --headers @headers.txt --body @body.json
  a secret that is in no file
    $ pass show webhook-secret | onchain-inbox verify --secret - --body @body.json --signature @signature.txt
`

/** `onchain-inbox verify`: explains why a signature is rejected (R73, A30–A32). Exit 0 = valid, 1 = invalid, 75 = keys unavailable. */
export function addVerifyCommand(program: Command): void {
  const verify = program
    .command('verify')
    .description('Check a signature, and explain a mismatch')
    .option('--secret <secret>', 'one secret, or JSON {"label": "secret"}: @file, - for standard input, or env:NAME')
    .requiredOption('--body <body>', 'the exact bytes received: @file, or - for standard input')
    .option(
      '--signature <value>',
      'value of the signature header: @file, - for standard input, or env:NAME (default: no header)',
    )
    .option('--source <name>', 'a source of the settings, instead of --secret and --signature')
    .option('--headers <headers>', 'with --source: headers of the request, one per line: @file, or -')
    .option('--target <path>', 'with --source: path and query of the request (default: its path)')
    .option('--at <time>', 'with --source: when it was received: ISO 8601, or an age such as 2h (default: now)', time)
  withOutputOptions(withConfigOption(verify))
    .addHelpText('after', examples)
    .action(async (options: VerifyCommandOptions) => {
      host().exitCode = await run(options)
    })
}

async function run(options: VerifyCommandOptions): Promise<number> {
  const { secret, body, signature: header, source, headers } = options
  if ([secret, body, header, headers].filter((argument) => argument === '-').length > 1)
    throw new InboxError('usage', 'only one argument can come from standard input; use @file for the others')
  if (source !== undefined) return verifyOfSource(source, options)
  if (secret === undefined)
    throw new InboxError('usage', 'expected --secret with the secret, or --source with a source of the settings')
  const secrets = await readSecrets(secret)
  const signature = header === undefined ? undefined : await readSignatureArgument(header)
  const explanation = explain(await readBytesArgument('--body', body), signature, secrets)
  return printExplanation(explanation, options)
}

interface Explanation {
  readonly code: string
  readonly matchedLabel?: string | undefined
  readonly message: string
  readonly signedTexts?: readonly string[]
}

/** Returns the exit code. */
function printExplanation(explanation: Explanation, options: OutputOptions): number {
  const { code, matchedLabel, message, signedTexts = [] } = explanation
  const valid = code === 'valid'
  const label = matchedLabel === undefined ? '' : ` (secret: ${matchedLabel})`
  printResult({ valid, ...explanation }, options, () =>
    [
      `${valid ? 'valid' : `not valid: ${code}`}${label}`,
      message,
      ...signedTexts.map((text) => `signed: ${safeText(text, 1_000)}`),
    ].join('\n'),
  )
  if (valid) return 0
  return code === 'keys_unavailable' ? errorCatalogue[code].exitCode : 1
}

/** Explains the signature of a delivery to a source. Its secrets come from the settings. */
async function verifyOfSource(name: string, options: VerifyCommandOptions): Promise<number> {
  const misplaced = (['secret', 'signature'] as const).find((option) => options[option] !== undefined)
  if (misplaced !== undefined)
    throw new InboxError('usage', `--${misplaced} and --source exclude each other: give the headers with --headers`)
  const { source } = await readSource(name, options)
  const body = await readBytesArgument('--body', options.body)
  const raw = source.inflates ? await inflate(body) : body
  const headers =
    options.headers && parseHeaders((await readBytesArgument('--headers', options.headers)).toString('latin1'))
  if (headers && headers.length === 0) throw new InboxError('usage', '--headers has no line of the form name: value')
  const now = Date.parse(options.at ?? new Date(systemClock.now()).toISOString())
  if (Number.isNaN(now)) throw new InboxError('usage', `--at must be a time such as 2026-01-31T14:03:22Z`)
  const explanation = await explainSource(source, {
    raw,
    headers: headers || [],
    now,
    target: options.target ?? source.path,
  })
  return printExplanation(explanation, options)
}

const maxInflatedBytes = 64 * 1024 * 1024

/** The sender signs the inflated body. */
async function inflate(body: Buffer): Promise<Uint8Array> {
  const inflated = await createInflater(maxInflatedBytes)(body, { 'content-encoding': 'gzip' })
  if (typeof inflated === 'string')
    throw new InboxError('usage', `--body is gzipped, but can't be inflated: ${inflated}`)
  return inflated
}

/** Lines `name: value`, as names and values in turn. Other lines, such as the request line, are skipped. */
function parseHeaders(text: string): readonly string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [, name, value = ''] = /^[<>]?\s*([!#$%&'*+.^_`|~\w-]+):\s*(.*?)\s*$/.exec(line) ?? []
    return name === undefined ? [] : [name, value]
  })
}

async function readSecrets(argument: string): Promise<readonly Secret[]> {
  const text = await readSecretArgument(argument)
  try {
    return argument === 'env:INBOX_SECRETS' ? parseSecrets(text) : parseSecretsFile(text)
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    throw new InboxError('usage', `--secret: ${error.message}`, { cause: error })
  }
}
