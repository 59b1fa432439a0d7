import { InvalidArgumentError } from 'commander'

const longest = 86_400

/** Reads how many seconds something may take, as an option of a command. */
export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds >= 0 && seconds <= longest) return seconds
  throw new InvalidArgumentError(`Expected a number of seconds from 0 to ${longest}.`)
}
