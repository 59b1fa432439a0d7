import { describe } from 'vitest'
import { describeActions } from './actions.ts'
import { describeAccept } from './accept.ts'
import { describeClaim } from './claim.ts'
import { describeCrash, describeReopen } from './durability.ts'
import { describeEffects } from './effects.ts'
import { describeFindings } from './findings.ts'
import { describeGaps } from './gaps.ts'
import { describeOperations } from './operations.ts'
import { describeOptions } from './options.ts'
import { describePrune } from './prune.ts'
import { describeReap } from './reap.ts'
import { describeReceipts } from './receipts.ts'
import { describeReplays } from './replays.ts'
import { describeSearch } from './search.ts'
import { describeSettle } from './settle.ts'
import type { ConformanceHarness } from './stage.ts'
import { describeSources } from './sources.ts'
import { describeViews } from './views.ts'
import { describeWalk } from './walk.ts'

export type { ConformanceHarness } from './stage.ts'

/** Tests of the contract in `src/inbox/port.ts`. Every adapter must pass them. */
export function describeInboxConformance(name: string, harness: ConformanceHarness): void {
  describe(name, () => {
    describeAccept(harness)
    describeClaim(harness)
    describeSettle(harness)
    describeReap(harness)
    describeEffects(harness)
    describeOptions(harness)
    describePrune(harness)
    describeActions(harness)
    describeGaps(harness)
    describeReplays(harness)
    describeViews(harness)
    describeSearch(harness)
    describeReceipts(harness)
    describeFindings(harness)
    describeOperations(harness)
    describeSources(harness)
    describeReopen(harness)
    describeCrash(harness)
    describeWalk(harness)
  })
}
