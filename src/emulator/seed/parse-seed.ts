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
