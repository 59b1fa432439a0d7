import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

/**
 * Returns the certificate for localhost, 127.0.0.1 and ::1 from `dir`, readable by its owner only. Creates it if it is
 * missing or expires soon. It is its own authority: clients trust it by `certFile`.
 *
 * @throws InboxError `config_invalid` if the folder can't be used
 */
export async function ownCertificate(dir: string, now: number): Promise<TlsPair & { readonly certFile: string }> {
  const certFile = join(dir, 'tls-cert.pem')
  const keyFile = join(dir, 'tls-key.pem')
  const kept = await readPair(certFile, keyFile).catch(() => null)
  if (kept !== null && endsAt(kept) - now > renewalDays * dayMs) return { ...kept, certFile }

  const pair = await makeCertificate(now)
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
 * A certificate for this process only: the key stays in memory. Disposing removes the temporary folder of `certFile`.
 *
 * @throws InboxError `config_invalid` if the temporary folder can't be written
 */
export async function passingCertificate(now: number): Promise<TlsPair & { readonly certFile: string } & Disposable> {
  const pair = await makeCertificate(now)
  try {
    const dir = mkdtempSync(join(tmpdir(), 'onchain-inbox-tls-'))
    const certFile = join(dir, 'tls-cert.pem')
    writeFileSync(certFile, pair.cert, { mode: 0o600 })
    return { ...pair, certFile, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) }
  } catch (error) {
    const message = `cannot write the certificate to ${tmpdir()}: ${messageOf(error)}; set --data or --tls-cert`
    throw new InboxError('config_invalid', message, { cause: error })
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

async function makeCertificate(now: number): Promise<TlsPair> {
  // Imported on demand: it is large, and an emulator seldom serves HTTPS.
  const { generate } = await import('selfsigned')
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - dayMs),
    notAfterDate: new Date(now + lifetimeDays * dayMs),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  return { cert, key }
}
