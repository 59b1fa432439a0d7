import { createSecretKey } from 'node:crypto'
import { InboxError } from './errors.ts'
import type { Secret } from '../signature/keys.ts'

/** Public credentials without any protection. The demo and the demo seed of the emulator use them; `loadConfig` rejects them everywhere else. */
export const demoCredentials = {
  secret: 'demo-secret-do-not-use-0001',
  adminToken: 'demo-admin-token-do-not-use',
  apiKey: 'sk_demo-api-key-do-not-use-0001',
  controlToken: 'demo-control-token-do-not-use',
  dashboardPassword: 'demo-password-do-not-use',
} as const

const values: readonly string[] = Object.values(demoCredentials)
const secretKeys = values.map((value) => createSecretKey(Buffer.from(value)))

export const isDemoCredential = (text: string): boolean => values.includes(text)

/** @throws InboxError `config_invalid` if one of the secrets is a demo credential */
export function refuseDemoSecret(secrets: readonly Secret[]): void {
  if (secrets.some(({ key }) => secretKeys.some((known) => key.equals(known)))) throw demoCredentialError('secret')
}

/** @throws InboxError `config_invalid` if the token is a demo credential */
export function refuseDemoToken(token: string | undefined): void {
  if (token !== undefined && isDemoCredential(token)) throw demoCredentialError('token')
}

function demoCredentialError(what: string): InboxError {
  return new InboxError('config_invalid', `this ${what} is published with the demo`)
}
