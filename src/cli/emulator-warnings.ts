import { demoCredentials } from '../demo-credentials.ts'
import type { Emulator, StartEndpoint } from '../emulator/emulator.ts'
import type { Seed } from '../emulator/seed/schema.ts'
import { isLoopback } from '../loopback.ts'

const shortestSecret = 16
const shownWallets = 3

interface Before {
  readonly seed: Seed
  readonly endpoints: readonly StartEndpoint[]
  readonly options: { readonly host: string }
}

/** What is worth a warning in what was asked for. */
export function warningsBefore({ seed, endpoints, options: { host } }: Before): readonly string[] {
  const isDemo = seed.controlToken === demoCredentials.controlToken
  return [
    ...(isDemo && !isLoopback(host)
      ? ['other machines can reach this emulator, and everyone knows the keys of the demo seed']
      : []),
    ...endpoints.flatMap(({ secret }) =>
      secret === undefined || secret.length >= shortestSecret
        ? []
        : [`--secret has ${secret.length} characters; a receiver takes ${shortestSecret} or more`],
    ),
  ]
}

interface After {
  readonly emulator: Emulator
  readonly seed: Seed
  readonly count: number | undefined
}

/** What is worth a warning when the world is there. */
export function warningsAfter({ emulator: { accounts, world }, seed, count }: After): readonly string[] {
  const { tracked } = seed
  const unseen = tracked.filter(({ network, wallet }) => world.views.findWallet(network, wallet) === null)
  const names = unseen.slice(0, shownWallets).map(({ network, wallet }) => `${wallet} (${network})`)
  const others = unseen.length > shownWallets ? ` and ${unseen.length - shownWallets} more` : ''
  return [
    ...(unseen.length > 0 && seed.world.history > 0
      ? [
          `tracked, but never traded in this world: ${names.join(', ')}${others}; REST does not know them until they do. ` +
            'GET /_emulator/world/wallets lists the wallets of this world',
        ]
      : []),
    ...(count !== undefined && accounts.allWebhooks().length === 0
      ? ['--count without a webhook: it ends when so many events have arisen, delivered to nobody']
      : []),
  ]
}
