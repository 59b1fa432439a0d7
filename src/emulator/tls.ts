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
 * The certificate of this machine's names (localhost, 127.0.0.1, ::1) that is kept in `dir`, readable by its owner only; one
 * that is missing, or soon ends, is made. It is its own authority: clients trust it by `certFile`.
 *
 * @throws InboxError `config_invalid` if the folder cannot be used
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
    throw new InboxError('config_invalid', `the certificate cannot be kept in ${dir}: ${messageOf(error)}`, {
      cause: error,
    })
  }
  return { ...pair, certFile }
}

/**
 * The same for this process alone: the key stays in memory, and `certFile`, in the temporary folder of the system, is gone with
 * what it is in when it is disposed of.
 *
 * @throws InboxError `config_invalid` if nothing can be written there
 */
export async function passingCertificate(now: number): Promise<TlsPair & { readonly certFile: string } & Disposable> {
  const pair = await makeCertificate(now)
  try {
    const dir = mkdtempSync(join(tmpdir(), 'onchain-inbox-tls-'))
    const certFile = join(dir, 'tls-cert.pem')
    writeFileSync(certFile, pair.cert, { mode: 0o600 })
    return { ...pair, certFile, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) }
  } catch (error) {
    const message = `the certificate cannot be written in ${tmpdir()}: ${messageOf(error)}; give --data or --tls-cert`
    throw new InboxError('config_invalid', message, { cause: error })
  }
}

/**
 * A certificate and its key from files.
 *
 * @throws InboxError `config_invalid` that says what is wrong with them
 */
export async function readCertificate(certFile: string, keyFile: string): Promise<TlsPair> {
  try {
    return await readPair(certFile, keyFile)
  } catch (error) {
    throw new InboxError(
      'config_invalid',
      `the certificate ${certFile} and the key ${keyFile} cannot be used, expected PEM files that go together: ` +
        messageOf(error),
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
  // Here and not above: it is large, and an emulator seldom speaks HTTPS.
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
