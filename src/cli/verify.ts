import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { InboxError } from '../base/errors.ts'
import { explain } from '../signature/explain.ts'
import { parseSecrets, parseSecretsFile, type Secret } from '../signature/keys.ts'
import { fromCwd, host } from './host.ts'
import { printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { readSecretArgument, readSignatureArgument } from './secret-argument.ts'

interface VerifyCommandOptions extends OutputOptions {
  readonly secret: string
  readonly body: string
  readonly signature?: string
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
  a secret that is in no file
    $ pass show webhook-secret | onchain-inbox verify --secret - --body @body.json --signature @signature.txt
`

/** `onchain-inbox verify`: explains why a signature is rejected (R73, A30–A32). Exit 0 = valid, 1 = invalid. */
export function addVerifyCommand(program: Command): void {
  const verify = program
    .command('verify')
    .description('Check a signature, and explain a mismatch')
    .requiredOption(
      '--secret <secret>',
      'one secret, or JSON {"label": "secret"}: @file, - for standard input, or env:NAME',
    )
    .requiredOption('--body <body>', 'the exact bytes received: @file, or - for standard input')
    .option(
      '--signature <value>',
      'value of the signature header: @file, - for standard input, or env:NAME (default: no header)',
    )
  withOutputOptions(verify)
    .addHelpText('after', examples)
    .action(async (options: VerifyCommandOptions) => {
      host().exitCode = await run(options)
    })
}

async function run(options: VerifyCommandOptions): Promise<0 | 1> {
  const { secret, body, signature: header } = options
  if ([secret, body, header].filter((argument) => argument === '-').length > 1) {
    throw new InboxError(
      'usage',
      'only one of secret, body and signature can come from standard input; use @file for the others',
    )
  }
  const secrets = await readSecrets(secret)
  const signature = header === undefined ? undefined : await readSignatureArgument(header)
  const explanation = explain(await readBody(body), signature, secrets)
  const isValid = explanation.code === 'valid'
  printResult({ valid: isValid, ...explanation }, options, ({ code, matchedLabel, message }) => {
    const label = matchedLabel === undefined ? '' : ` (secret: ${matchedLabel})`
    return `${isValid ? 'valid' : `not valid: ${code}`}${label}\n${message}`
  })
  return isValid ? 0 : 1
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

async function readBody(argument: string): Promise<Uint8Array> {
  if (argument === '-') return buffer(host().stdin)
  if (!argument.startsWith('@')) {
    throw new InboxError('usage', '--body must be @file, or - for standard input: a literal could change bytes')
  }
  const file = argument.slice(1)
  try {
    return await readFile(fromCwd(file))
  } catch (error) {
    throw new InboxError('usage', `--body: can't read ${file}; expected a path after @`, {
      cause: error,
    })
  }
}
