import { demoCredentials } from '../../base/demo-credentials.ts'
import { parseSeed } from './parse-seed.ts'
import type { Seed } from './schema.ts'

/** With so many alerts one is crossed every hour or so. */
const priceAlerts = 28

/** The seed whose credentials are published. */
export const demoSeedName = 'demo'

/**
 * What an emulator begins with where nobody said more than a name: one account with a key for everything. That of `demo` is
 * published, all others are drawn.
 *
 * @throws InboxError `config_invalid` if the name is empty or longer than 200 characters
 */
export function builtInSeed(seed: string): Seed {
  const isDemo = seed === demoSeedName
  const key = { name: 'first', scopes: 'all' as const, ...(isDemo && { key: demoCredentials.apiKey }) }
  const account = { name: isDemo ? 'demo' : 'default', plan: 'pro' as const, keys: [key], priceAlerts }
  return parseSeed({
    world: { seed },
    accounts: [{ ...account, ...(isDemo && { alertSecret: demoCredentials.secret }) }],
    ...(isDemo && {
      controlToken: demoCredentials.controlToken,
      dashboard: { user: 'demo', password: demoCredentials.dashboardPassword },
    }),
  })
}
