import { createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InboxError, messageOf } from '../base/errors.ts'
import { makeFolder } from '../base/files.ts'

/** A certificate and its key, as PEM. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

const dayMs = 86_400_000
const lifetimeDays = 397
const renewalDays = 30
/** DER: the boolean true. */
const isTrue = Buffer.of(0x01, 0x01, 0xff)

/**
 * Returns the certificate for localhost, 127.0.0.1 and ::1 from `dir`, readable by its owner only. Creates it if it is
 * missing or expires soon. It is self-signed: clients trust it by `certFile`.
 *
 * @throws InboxError `config_invalid` if the folder can't be used
 */
export async function storedCertificate(dir: string, now: number): Promise<TlsPair & { readonly certFile: string }> {
  const certFile = join(dir, 'tls-cert.pem')
  const keyFile = join(dir, 'tls-key.pem')
  const stored = await readPair(certFile, keyFile).catch(() => null)
  if (stored !== null && endsAt(stored) - now > renewalDays * dayMs) return { ...stored, certFile }

  const pair = makeCertificate(now)
  try {
    makeFolder(dir)
    await writeFile(keyFile, pair.key, { mode: 0o600 })
    await writeFile(certFile, pair.cert, { mode: 0o600 })
  } catch (error) {
    throw new InboxError('config_invalid', `cannot write the certificate to ${dir}: ${messageOf(error)}`, {
      cause: error,
    })
  }
  return { ...pair, certFile }
}

/**
 * A certificate for this process only. Disposing removes its temporary folder.
 *
 * @throws InboxError `config_invalid` if the temporary folder can't be written
 */
export async function temporaryCertificate(
  now: number,
): Promise<Awaited<ReturnType<typeof storedCertificate>> & Disposable> {
  const dir = mkdtempSync(join(tmpdir(), 'onchain-inbox-tls-'))
  return {
    ...(await storedCertificate(dir, now)),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/**
 * Reads a certificate and its key from files.
 *
 * @throws InboxError `config_invalid` if they can't be read or don't match
 */
export async function readCertificate(certFile: string, keyFile: string): Promise<TlsPair> {
  try {
    return await readPair(certFile, keyFile)
  } catch (error) {
    throw new InboxError(
      'config_invalid',
      `certificate ${certFile} and key ${keyFile} must be PEM files of the same pair: ` + messageOf(error),
      { cause: error },
    )
  }
}

async function readPair(certFile: string, keyFile: string): Promise<TlsPair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error('they belong to different pairs')
  return { cert, key }
}

function endsAt({ cert }: TlsPair): number {
  return Date.parse(new X509Certificate(cert).validTo)
}

/** Signs a P-256 key with itself, as a certificate authority for the names of this machine (RFC 5280). */
function makeCertificate(now: number): TlsPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('localhost')))))
  const algorithm = sequence(oid('2a8648ce3d040302'))
  const extensions = [
    extension('551d13', sequence(isTrue), true),
    // digitalSignature and keyCertSign: bits 0 and 5.
    extension('551d0f', der(0x03, Buffer.of(2, 0b1000_0100)), true),
    extension('551d25', sequence(oid('2b06010505070301'))),
    extension(
      '551d11',
      sequence(
        der(0x82, Buffer.from('localhost')),
        der(0x87, Buffer.of(127, 0, 0, 1)),
        der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.of(1)])),
      ),
    ),
  ]
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    name,
    sequence(time(now - dayMs), time(now + lifetimeDays * dayMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = der(0x03, Buffer.of(0), sign('sha256', toBeSigned, privateKey))
  const body = sequence(toBeSigned, algorithm, signature).toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** A DER element; its content is less than 64 KiB. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

/** An object identifier, given as the hex digits of its content. */
function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [isTrue] : []), der(0x04, value))
}

/** A UTCTime: valid until 2049. */
function time(ms: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`))
}
