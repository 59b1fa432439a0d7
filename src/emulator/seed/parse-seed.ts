import { demoCredentials } from '../../base/demo-credentials.ts'
import { InboxError } from '../../base/errors.ts'
import { checkSeed } from './problems.ts'
import type { Seed, SeedInput } from './schema.ts'

/**
 * Checks what an emulator is to begin with.
 *
 * @throws InboxError `config_invalid` with every problem and its path, and none of the values
 */
export function parseSeed(input: SeedInput): Seed {
  const checked = checkSeed(input)
  if (checked.ok) return checked.seed
  const problems = checked.problems.map(({ text }) => `  ${text}`)
  throw new InboxError('config_invalid', `the seed cannot be used:\n${problems.join('\n')}`)
}

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
