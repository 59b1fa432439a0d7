import { readFile } from 'node:fs/promises'
import { buffer, text } from 'node:stream/consumers'
import { InboxError } from '../base/errors.ts'
import { isLoopbackUrl } from '../base/loopback.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { fromCwd, host } from './host.ts'

export interface SecretArgumentOptions {
  /** URL that the secret is sent to. A loopback URL allows a literal secret, with a warning. */
  readonly url?: string
}

export const secretForms = '@file, - for standard input, or env:NAME'

/**
 * Reads the secret that an argument names: `@file`, `-` (standard input) or `env:NAME`, trimmed. A literal is refused, because every
 * user of the machine can read the arguments of a running process.
 *
 * @throws InboxError `usage` or `config_invalid`, never with the argument in it
 */
export async function readSecretArgument(argument: string, options: SecretArgumentOptions = {}): Promise<string> {
  const secret = ((await readNamed(argument)) ?? readLiteral(argument, options)).trim()
  if (secret === '') throw new InboxError('usage', `the secret is empty; expected one from ${secretForms}`)
  return secret
}

/**
 * Reads a receiver from the URL option `name` and --secret.
 *
 * @throws InboxError `usage` unless both are set; like the service, it allows plain HTTP only on this machine (A25)
 */
export async function readEndpoint(name: string, url: string | undefined, secret: string | undefined) {
  if (url === undefined || secret === undefined)
    throw new InboxError('usage', `${name} and --secret go together: the URL of a receiver and its secret`)
  const protocol = URL.parse(url)?.protocol
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackUrl(url)))
    throw new InboxError('usage', `${name} must be https, or http on this machine`)
  return { url, secret: await readSecretArgument(secret, { url }) }
}

/** Reads a signature. A literal is allowed, with a warning: a signature is valid for one body, and deduplication makes replaying it harmless. */
export async function readSignatureArgument(argument: string): Promise<string> {
  const signature = await readNamed(argument)
  if (signature === undefined) warn('a signature')
  return (signature ?? argument).trim()
}

/**
 * Reads the exact bytes that the argument of `option` names: `@file` or `-` (standard input).
 *
 * @throws InboxError `usage`
 */
export async function readBytesArgument(option: string, argument: string): Promise<Buffer> {
  if (argument === '-') return buffer(host().stdin)
  if (!argument.startsWith('@')) {
    throw new InboxError('usage', `${option} must be @file, or - for standard input: a literal could change bytes`)
  }
  const file = argument.slice(1)
  try {
    return await readFile(fromCwd(file))
  } catch (error) {
    throw new InboxError('usage', `${option}: can't read ${file}; expected a path after @`, { cause: error })
  }
}

/** The value of `@file`, `-` or `env:NAME`; undefined for a literal. */
async function readNamed(argument: string): Promise<string | undefined> {
  if (argument === '-') return text(host().stdin)
  if (argument.startsWith('@')) return readSecretFile(fromCwd(argument.slice(1)))
  if (argument.startsWith('env:')) return readVariable(argument.slice('env:'.length))
  return undefined
}

function readLiteral(argument: string, { url }: SecretArgumentOptions): string {
  if (url === undefined || !isLoopbackUrl(url)) {
    throw new InboxError(
      'usage',
      `every user of this machine can read a secret on the command line; use ${secretForms}`,
    )
  }
  warn('a secret')
  return argument
}

function warn(what: string): void {
  host().stderr.write(`warning: every user of this machine can read ${what} on the command line; use ${secretForms}\n`)
}

function readVariable(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new InboxError(
      'usage',
      'env: must be followed by the name of an environment variable, for example env:INBOX_SECRETS',
    )
  }
  const value = host().env[name]
  if (value === undefined) throw new InboxError('usage', `the environment variable ${name} is not set`)
  return value
}
