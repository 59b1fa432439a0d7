import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { refuseDemoSecret, refuseDemoToken } from '../base/demo-credentials.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { parseSecretsFile, type Secret } from '../signature/keys.ts'
import { settings, type SettingName, type SettingValues } from './settings.ts'
import type { RawSettings } from './collect.ts'

/** Secrets as they were when the configuration was loaded, and where they come from. */
export interface SecretsOrigin {
  readonly secrets: readonly Secret[]
  /** Absolute paths of the files that hold secrets. */
  readonly files: readonly string[]
  /** Reads the secrets again, after a file has changed. */
  read(): Promise<readonly Secret[]>
}

/** Secrets that can't change while the process runs. */
export function inlineSecrets(secrets: readonly Secret[]): SecretsOrigin {
  return { secrets, files: [], read: async () => secrets }
}

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

export interface Credentials {
  /** Null: there is no default source. Undefined: there is a problem. */
  readonly webhookSecrets: SecretsOrigin | null | undefined
  readonly viewerToken: string | undefined
  readonly tls: TlsFiles | undefined
  readonly problems: readonly string[]
}

export interface CredentialsOptions {
  readonly values: SettingValues
  /** Raw values, valid or not. */
  readonly raw: RawSettings['values']
  /** Makes a path absolute. */
  readonly at: (path: string) => string
  readonly allowDemoCredentials: boolean
}

/** Reads the secrets and TLS files, and checks the tokens. Problems contain nothing secret. */
export async function loadCredentials(options: CredentialsOptions): Promise<Credentials> {
  const problems: string[] = []
  const webhookSecrets = await loadSecrets(options, problems)
  const { INBOX_ADMIN_TOKEN: token } = options.values
  const viewerToken = viewerTokenOf(options, problems)
  const tls = await loadTls(options, problems)
  if (!options.allowDemoCredentials) {
    if (webhookSecrets?.files.length === 0) {
      await attempt('INBOX_SECRETS', problems, async () => refuseDemoSecret(webhookSecrets.secrets))
    }
    await attempt('INBOX_ADMIN_TOKEN', problems, async () => refuseDemoToken(token))
    await attempt('INBOX_ADMIN_VIEWER_TOKEN', problems, async () => refuseDemoToken(viewerToken))
  }
  return { webhookSecrets, viewerToken, tls, problems }
}

async function loadSecrets({ values, raw, at }: CredentialsOptions, problems: string[]) {
  const { INBOX_SECRETS: secrets, INBOX_SECRETS_FILE: path } = values
  if (raw.INBOX_SECRETS === undefined && raw.INBOX_SECRETS_FILE === undefined) {
    if (raw.INBOX_SOURCES !== undefined && !isEmpty(values.INBOX_SOURCES)) return null
    const { expected, example } = settings.INBOX_SECRETS
    problems.push(
      `INBOX_SECRETS or INBOX_SECRETS_FILE is required; expected ${expected}, for example INBOX_SECRETS=${example}`,
    )
  }
  if (raw.INBOX_SECRETS !== undefined && raw.INBOX_SECRETS_FILE !== undefined) {
    problems.push('INBOX_SECRETS: INBOX_SECRETS_FILE is set as well; expected only one of them')
    return undefined
  }
  if (secrets) return inlineSecrets(secrets)
  if (path === undefined) return undefined
  return attempt('INBOX_SECRETS_FILE', problems, () => secretsOfFile(at(path)))
}

function isEmpty(sources: unknown): boolean {
  return typeof sources === 'object' && sources !== null && Object.keys(sources).length === 0
}

/** Secrets in the file that INBOX_SECRETS_FILE names. `file`: absolute. Throws like `readSecretsFile`. */
export async function secretsOfFile(file: string): Promise<SecretsOrigin> {
  const read = () => readSecretsFile(file)
  return { secrets: await read(), files: [file], read }
}

/** Throws InboxError `config_invalid` if it can't be read, has no valid secrets, or has the published one of the demo. */
async function readSecretsFile(file: string): Promise<readonly Secret[]> {
  const secrets = parseSecretsFile(await readSecretFile(file))
  refuseDemoSecret(secrets)
  return secrets
}

/** Rejects one token for both roles: every viewer would be an operator. */
function viewerTokenOf({ values }: CredentialsOptions, problems: string[]): string | undefined {
  const { INBOX_ADMIN_TOKEN: operator, INBOX_ADMIN_VIEWER_TOKEN: viewer } = values
  if (viewer === undefined || viewer !== operator) return viewer
  const { expected, example } = settings.INBOX_ADMIN_VIEWER_TOKEN
  problems.push(
    `INBOX_ADMIN_VIEWER_TOKEN must differ from INBOX_ADMIN_TOKEN: every viewer would be an operator; expected ` +
      `${expected}, for example INBOX_ADMIN_VIEWER_TOKEN=${example}`,
  )
  return undefined
}

async function loadTls({ values, raw, at }: CredentialsOptions, problems: string[]): Promise<TlsFiles | undefined> {
  const { INBOX_TLS_CERT_FILE: cert, INBOX_TLS_KEY_FILE: key } = values
  for (const [set, other] of [tlsNames, tlsNames.toReversed()]) {
    if (set && other && raw[set] !== undefined && raw[other] === undefined) {
      problems.push(`${other} is required with ${set}`)
    }
  }
  if (cert === undefined || key === undefined) return undefined
  const files = { certFile: at(cert), keyFile: at(key) }
  const certText = await attempt('INBOX_TLS_CERT_FILE', problems, () => readPem(files.certFile))
  const keyText = await attempt('INBOX_TLS_KEY_FILE', problems, () => readPem(files.keyFile))
  if (certText === undefined || keyText === undefined) return undefined
  try {
    createSecureContext({ cert: certText, key: keyText })
  } catch (error) {
    problems.push(
      `INBOX_TLS_CERT_FILE and INBOX_TLS_KEY_FILE: ${files.certFile} and ${files.keyFile} cannot be used together ` +
        `(${messageOf(error)}); expected a certificate and the key that belongs to it, both as PEM, the key without a password`,
    )
  }
  return files
}

const tlsNames: readonly SettingName[] = ['INBOX_TLS_CERT_FILE', 'INBOX_TLS_KEY_FILE']

async function readPem(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new InboxError('config_invalid', `${file} cannot be read`, { cause: error })
  }
}

async function attempt<T>(name: SettingName, problems: string[], load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load()
  } catch (error) {
    problems.push(`${name}: ${messageOf(error)}; expected ${settings[name].expected}`)
    return undefined
  }
}
