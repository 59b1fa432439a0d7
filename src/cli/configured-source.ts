import { systemClock } from '../base/clock.ts'
import { nearest } from '../base/edit-distance.ts'
import { InboxError } from '../base/errors.ts'
import { safeText, silentLogger } from '../base/log.ts'
import { loadConfig } from '../config/config.ts'
import type { ConfiguredSource } from '../config/sources.ts'
import { createKeyCache } from '../sources/keys.ts'
import { urlOf } from './inbox-calls.ts'
import { configInputs, type ConfigOption } from './settings.ts'

/**
 * Reads a source of the settings, with its secrets. Public keys are fetched when they are needed, and not stored.
 *
 * @throws InboxError `usage` for an unknown name, `config_invalid` for invalid settings
 */
export async function readSource(name: string, options: ConfigOption) {
  const { sources, host, port, tls } = await loadConfig(configInputs(options))
  const found = sources.find(({ settings }) => settings.name === name)
  if (found === undefined) {
    const names = sources.map(({ settings }) => settings.name)
    const expected = names.length === 0 ? 'the setting sources is empty' : `expected ${names.join(', ')}`
    throw new InboxError('usage', `no source is named ${safeText(name, 100)}${nearest(name, names)}: ${expected}`)
  }
  const { settings, secrets } = found
  return {
    source: { ...settings, secrets: () => secrets.secrets, keys: createKeys(found) },
    /** Null: the settings describe the sender themselves. */
    provider: settings.provider,
    /** URL of the webhook on this machine. */
    url: `${urlOf(host, port, tls === undefined ? 'http' : 'https')}${settings.path}`,
  }
}

const noStorage = { sourceKeys: () => Promise.resolve([]), storeSourceKeys: () => Promise.resolve() }

/** The public keys of a source; null if it has secrets. */
export function createKeys({ settings: { name: source, keyEndpoint: endpoint }, apiKey }: ConfiguredSource) {
  return (
    endpoint &&
    createKeyCache({ source, endpoint, apiKey, storage: noStorage, clock: systemClock, fetch, log: silentLogger })
  )
}
