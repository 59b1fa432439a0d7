import { acceptFunction, keepHeadersFunction, quarantineFunction } from './accept.ts'
import { createRunsFunction, supersedeFunction } from './create-runs.ts'
import { claimFunction, nextDueFunction, readLeasesFunction } from './claim.ts'
import { createItemsFunction, keepStateFunction, purgeStateFunction } from './effects.ts'
import { laneFunction } from './lanes.ts'
import { promoteFunction } from './promote.ts'
import { reapFunction } from './reap.ts'
import { releaseClaimsFunction } from './release.ts'
import { endLeasesFunction, isCancelledFunction, settleFunction } from './settle.ts'

/** What runs in the database: each a `CREATE OR REPLACE FUNCTION`, in an order in which they can be made. */
export const functions: readonly string[] = [
  laneFunction,
  supersedeFunction,
  createRunsFunction,
  keepHeadersFunction,
  quarantineFunction,
  acceptFunction,
  promoteFunction,
  nextDueFunction,
  claimFunction,
  readLeasesFunction,
  isCancelledFunction,
  keepStateFunction,
  purgeStateFunction,
  createItemsFunction,
  endLeasesFunction,
  settleFunction,
  releaseClaimsFunction,
  reapFunction,
]
