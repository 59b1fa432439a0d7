import type { SeedInput } from '../emulator/emulator.ts'
import { builtInSeed, demoSeedName } from '../emulator/seed/built-in.ts'

const history = '6h'

/** Strikes the one numbered `first`, then each `every`-th after it. */
const sometimes = (first: number, every: number) => ({
  script: `${'.'.repeat(first - 1)}x${'.'.repeat(every - first)}`,
  scriptRepeats: true,
})

/**
 * What goes wrong on purpose. The first events of each type are never struck, so that all types are seen at once; then it is
 * about one failure in a minute. One in ten is delivered twice (R88).
 */
const faults = [
  { direction: 'out', fault: { kind: 'duplicate' }, ...sometimes(4, 10) },
  { direction: 'out', fault: { kind: 'signature-bad' }, types: ['wallet.new_position'], ...sometimes(9, 40) },
  { direction: 'out', fault: { kind: 'drop-ack' }, types: ['wallet.large_trade'], ...sometimes(4, 20) },
  { direction: 'out', fault: { kind: 'tamper' }, types: ['token.*'], ...sometimes(12, 40) },
] as const satisfies SeedInput['faults']

/** Another world each time it is started at another moment, with the published credentials. */
export function demoSeed(startedAt: number): SeedInput {
  const seed = builtInSeed(demoSeedName)
  return { ...seed, faults: [...faults], world: { ...seed.world, seed: `demo-${startedAt}`, history } }
}
