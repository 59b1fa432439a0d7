import { statSync } from 'node:fs'
import type { Credentials } from '../config/credentials.ts'
import type { SettingValues } from '../config/settings.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const secretFiles = [
  'INBOX_ADMIN_TOKEN_FILE',
  'INBOX_ADMIN_VIEWER_TOKEN_FILE',
  'INBOX_API_KEY_FILE',
  'INBOX_DATABASE_URL_FILE',
  'INBOX_TLS_KEY_FILE',
] as const

/** The webhook secrets, by label and length, and who can read the files that hold secrets. */
export function examineSecrets(
  { secretsSource }: Credentials,
  values: Pick<SettingValues, (typeof secretFiles)[number]>,
  at: (path: string) => string,
): Finding[] {
  const files = [
    ...(secretsSource?.kind === 'file' ? [secretsSource.file] : []),
    ...secretFiles.flatMap((name) => values[name] ?? []).map(at),
  ]
  const open = files.filter(isReadByAll)
  if (secretsSource === undefined) {
    const advice = 'set INBOX_SECRETS_FILE to a file with the secret of the webhook: without it nothing can be received'
    return [fail('secrets', 'there is no webhook secret that can be used', advice)]
  }
  const { secrets } = secretsSource
  const list = secrets.map(({ label, key: { symmetricKeySize: size } }) => `${label} (${size} bytes)`).join(', ')
  const found = `${secrets.length === 1 ? '1 webhook secret' : `${secrets.length} webhook secrets`}: ${list}`
  if (open.length === 0) return [ok('secrets', found)]
  return [warn('secrets', `${found}; every user can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`)]
}

/** Who may use the admin side. */
export function examineTokens({ token, viewerToken }: Credentials): Finding {
  const operator = token === undefined ? 'not set (one is made at start)' : 'set'
  return ok('admin tokens', `admin token: ${operator}; viewer token: ${viewerToken === undefined ? 'not set' : 'set'}`)
}

function isReadByAll(file: string): boolean {
  return ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0
}
