import { text } from 'node:stream/consumers'
import { InboxError } from '../base/errors.ts'
import { isLoopbackUrl } from '../base/loopback.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { fromCwd, host } from './host.ts'

export interface SecretArgumentOptions {
  /** What the secret is used with. With a loopback URL a literal secret passes, with a warning on standard error. */
  readonly url?: string
}

const forms = '@file, - for standard input, or env:NAME'

/**
 * The secret that a command-line argument names: `@file`, `-` (standard input) or `env:NAME`, without white space around
 * it. A literal is refused, because every user of the machine can read the arguments of a running process.
 *
 * @throws InboxError `usage` or `config_invalid`, never with the argument in it
 */
export async function readSecretArgument(argument: string, options: SecretArgumentOptions = {}): Promise<string> {
  const secret = ((await readNamed(argument)) ?? takeLiteral(argument, options)).trim()
  if (secret === '') throw new InboxError('usage', `the secret is empty; expected one from ${forms}`)
  return secret
}

/**
 * A receiver and its secret, from a URL option of this name and --secret.
 *
 * @throws InboxError `usage` unless both are given; plain HTTP goes to this machine only, as the service delivers (A25)
 */
export async function readEndpoint(name: string, url: string | undefined, secret: string | undefined) {
  if (url === undefined || secret === undefined)
    throw new InboxError('usage', `${name} and --secret go together: where events go, and what signs them`)
  if (URL.parse(url)?.protocol === 'http:' && !isLoopbackUrl(url))
    throw new InboxError('usage', `${name}: http goes to this machine only; expected https for any other`)
  return { url, secret: await readSecretArgument(secret, { url }) }
}

/**
 * The same for a signature. A literal passes, with a warning: it vouches for one body, and whoever sends that again under its
 * signature does nothing.
 */
export async function readSignatureArgument(argument: string): Promise<string> {
  const signature = await readNamed(argument)
  if (signature === undefined) warn('a signature')
  return (signature ?? argument).trim()
}

/** What `@file`, `-` or `env:NAME` stands for; undefined for a literal. */
async function readNamed(argument: string): Promise<string | undefined> {
  if (argument === '-') return text(host().stdin)
  if (argument.startsWith('@')) return readSecretFile(fromCwd(argument.slice(1)))
  if (argument.startsWith('env:')) return readVariable(argument.slice('env:'.length))
  return undefined
}

function takeLiteral(argument: string, { url }: SecretArgumentOptions): string {
  if (url === undefined || !isLoopbackUrl(url)) {
    throw new InboxError(
      'usage',
      `a secret cannot stand on the command line, where every user of this machine can read it; give it as ${forms}`,
    )
  }
  warn('a secret')
  return argument
}

function warn(what: string): void {
  host().stderr.write(`warning: every user of this machine can read ${what} on the command line; give it as ${forms}\n`)
}

function readVariable(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new InboxError(
      'usage',
      'after env: the name of an environment variable is expected, for example env:INBOX_SECRETS',
    )
  }
  const value = host().env[name]
  if (value === undefined) throw new InboxError('usage', `the environment variable ${name} is not set`)
  return value
}
