import { createHash } from 'node:crypto'
import type { WorldIdentity } from './data/data-file.ts'
import { formatDuration } from './duration.ts'
import type { Seed } from './seed/schema.ts'

/** What a data file is compared by with the seed that it is opened for. Credentials are in it as a digest only (R68). */
export function identityOf({ world, accounts, tracked, thresholds, networks, stories }: Seed): WorldIdentity {
  const { seed, history, ...others } = world
  const settings = { history: formatDuration(history), ...others }
  const contents = JSON.stringify({ accounts, tracked, thresholds, networks, stories })
  return { seed, settings, contents: createHash('sha256').update(contents).digest('hex') }
}
