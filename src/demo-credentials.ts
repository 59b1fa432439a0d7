import { createSecretKey } from 'node:crypto'
import { InboxError } from './errors.ts'
import type { Secret } from './signature/keys.ts'

/** Published with the program, so of no protection: the demo uses them, `loadConfig` refuses them everywhere else. */
export const demoCredentials = {
  secret: 'demo-secret-do-not-use-0001',
  adminToken: 'demo-admin-token-do-not-use',
} as const

const secretKey = createSecretKey(Buffer.from(demoCredentials.secret))

/** @throws InboxError `config_invalid` if one of the secrets is the published one */
export function refuseDemoSecret(secrets: readonly Secret[]): void {
  if (secrets.some(({ key }) => key.equals(secretKey))) throw published('secret')
}

/** @throws InboxError `config_invalid` if the token is the published one */
export function refuseDemoToken(token: string | undefined): void {
  if (token === demoCredentials.adminToken) throw published('token')
}

function published(what: string): InboxError {
  return new InboxError('config_invalid', `this ${what} is the published one of the demo, which anyone knows`)
}
