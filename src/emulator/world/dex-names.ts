import { networkFacts } from './networks.ts'

/** Where tokens are traded before they have a pool. */
export const launchPlatform = 'Pump.fun'

/** Every exchange there is; its place in the list stands for it. New ones go to the end. */
const dexNames = [
  ...new Set([launchPlatform, ...Object.values(networkFacts).flatMap(({ dexes }) => dexes.map(({ name }) => name))]),
]

export function dexNumber(name: string): number {
  const number = dexNames.indexOf(name)
  if (number < 0) throw new RangeError(`exchange ${name}: expected one of ${dexNames.join(', ')}`)
  return number
}

export function dexName(number: number): string {
  return dexNames[number] ?? launchPlatform
}
