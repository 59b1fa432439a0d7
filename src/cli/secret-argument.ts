import { text } from 'node:stream/consumers'
import { processEnvironment } from '../config.ts'
import { isLoopback } from '../config/values.ts'
import { InboxError } from '../errors.ts'
import { readSecretFile } from '../secret-file.ts'
import { withoutLineBreak } from '../signature/keys.ts'

export interface SecretArgumentOptions {
  /** What the secret is used with. With a loopback URL a literal secret passes, with a warning on standard error. */
  readonly url?: string
}

const forms = '@file, - for standard input, or env:NAME'

/**
 * The secret that a command-line argument names: `@file`, `-` (standard input) or `env:NAME`, less one line break at the
 * end. A literal is refused, because every user of the machine can read the arguments of a running process.
 *
 * @throws InboxError `usage` or `config_invalid`, never with the argument in it
 */
export async function readSecretArgument(argument: string, options: SecretArgumentOptions = {}): Promise<string> {
  const secret = withoutLineBreak(await read(argument, options))
  if (secret === '') throw new InboxError('usage', `the secret is empty; expected one from ${forms}`)
  return secret
}

async function read(argument: string, options: SecretArgumentOptions): Promise<string> {
  if (argument === '-') return text(process.stdin)
  if (argument.startsWith('@')) return readSecretFile(argument.slice(1))
  if (argument.startsWith('env:')) return readVariable(argument.slice('env:'.length))
  if (options.url === undefined || !isLoopbackUrl(options.url)) {
    throw new InboxError(
      'usage',
      `a secret cannot stand on the command line, where every user of this machine can read it; give it as ${forms}`,
    )
  }
  process.stderr.write(
    `warning: every user of this machine can read a secret on the command line; give it as ${forms}\n`,
  )
  return argument
}

function readVariable(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) {
    throw new InboxError(
      'usage',
      'after env: the name of an environment variable is expected, for example env:INBOX_SECRETS',
    )
  }
  const value = processEnvironment()[name]
  if (value === undefined) throw new InboxError('usage', `the environment variable ${name} is not set`)
  return value
}

function isLoopbackUrl(url: string): boolean {
  const { hostname } = URL.parse(url) ?? {}
  return hostname !== undefined && isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))
}
