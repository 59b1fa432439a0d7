import { InboxError } from '../base/errors.ts'
import type { ActivityQuery } from './index-port.ts'

// What every index keeps at most.

export const mostDrift = 500
export { mostWallets } from './index-port.ts'
/** Pairs of type and network that are told apart; further ones are counted under `otherKinds`. */
export const mostKinds = 5_000
export const otherKinds = '(others)'

const minuteMs = 60_000
const mostBuckets = 1_500

/** Throws `bad_request` for more than 1,500 buckets, or for buckets that are no whole minutes. */
export function checkActivity({ from, to, bucketMs }: ActivityQuery): void {
  if (!Number.isSafeInteger(bucketMs) || bucketMs < minuteMs || bucketMs % minuteMs !== 0) {
    throw new InboxError(
      'bad_request',
      `expected buckets of a whole number of minutes, in milliseconds, received ${bucketMs}`,
    )
  }
  const buckets = (to - from) / bucketMs
  if (!(buckets <= mostBuckets)) {
    throw new InboxError(
      'bad_request',
      `expected at most ${mostBuckets} buckets, received ${Math.ceil(buckets)}: ask for longer ones`,
    )
  }
}

/** Where the bucket begins that a minute belongs to: buckets begin at whole multiples of their length since 1970. */
export function bucketOf(at: number, bucketMs: number): number {
  return Math.floor(at / bucketMs) * bucketMs
}
