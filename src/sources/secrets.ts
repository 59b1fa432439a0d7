import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { isDemoCredential } from '../base/demo-credentials.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { readSecretFile } from '../base/secret-file.ts'
import { isDamaged, type Secret } from '../signature/keys.ts'
import { onlyLabel, type SecretOrigin, type SourceSettings } from './settings.ts'

type SignedSource = Pick<SourceSettings, 'name' | 'verify' | 'secretOrigins'>

export interface OriginReader {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Default: reads from the disk. */
  readonly readFile?: (file: string) => Promise<string>
}

/** Bytes of a secret's text. */
const bytes = { min: 8, max: 4_096 }

/**
 * Reads the secrets of a source. Each text is one secret: it is never split.
 *
 * @throws InboxError `config_invalid` with the name of the setting, without the text
 */
export async function readSecrets(source: SignedSource, reader: OriginReader): Promise<readonly Secret[]> {
  const origins = Object.entries(source.secretOrigins)
  return Promise.all(
    origins.map(async ([label, origin]) => {
      const setting = `sources.${source.name}.secrets${label === onlyLabel ? '' : `.${label}`}`
      return { label, key: toKey(await readOrigin(setting, origin, reader), source, setting) }
    }),
  )
}

/** Reads a secret or an API key. White space around it is not part of it. */
export async function readOrigin(setting: string, origin: SecretOrigin, reader: OriginReader): Promise<string> {
  const { env, readFile = readSecretFile } = reader
  if (typeof origin === 'string') return origin.trim()
  if ('file' in origin) {
    try {
      return (await readFile(origin.file)).trim()
    } catch (cause) {
      throw new InboxError('config_invalid', `${setting} must be readable: ${messageOf(cause)}`, { cause })
    }
  }
  const text = env[origin.env]?.trim() ?? ''
  if (text === '') throw new InboxError('config_invalid', `${setting} must have a value: ${origin.env} is not set`)
  return text
}

function toKey(text: string, { verify }: SignedSource, setting: string): KeyObject {
  const invalid = (rule: string) => new InboxError('config_invalid', `${setting} must be ${rule}`)
  const { length } = Buffer.from(text)
  if (length < bytes.min || length > bytes.max) throw invalid(`${bytes.min} to ${bytes.max} bytes (got ${length})`)
  if (isDamaged(text)) throw invalid('one line of UTF-8 text')

  if (isDemoCredential(text)) throw invalid('another text: this one is published with the demo')

  const schemes = verify.map(({ scheme }) => scheme)
  if (schemes.includes('ed25519') && (text.startsWith('whpk_') || schemes.length === 1)) {
    const key = decoded(text.replace(/^whpk_/, ''))
    if (key?.length !== 32) throw invalid('an Ed25519 public key: whpk_ and 32 bytes in base64')
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') }, format: 'jwk' })
  }
  if (!verify.some(({ secretEncoding }) => secretEncoding === 'base64')) return createSecretKey(Buffer.from(text))
  const key = decoded(text.replace(/^whsec_/, ''))
  if (key === null || key.length < bytes.min) throw invalid(`whsec_ and at least ${bytes.min} bytes in base64`)
  return createSecretKey(key)
}

/** Null if the text is no base64. */
function decoded(text: string): Buffer | null {
  const decodedBytes = Buffer.from(text, 'base64')
  const isBase64 = decodedBytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  return isBase64 && decodedBytes.length > 0 ? decodedBytes : null
}
