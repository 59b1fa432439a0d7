import type { ControlClient } from './control-client.ts'
import type { DeliveryJson, ReplayBody } from './control-json.ts'
import type { Standing } from './follow-deliveries.ts'

/** What was replayed, in the order it was. */
export interface ReplayedAll {
  readonly replays: readonly DeliveryJson[]
  /** How they stand now: those asked for, by a few requests. One that is no longer known has no delivery. */
  readonly look: (replays: readonly DeliveryJson[]) => Promise<readonly Standing<DeliveryJson>[]>
}

const perPage = 1_000

/** Replays all that match (A46), by as many requests as that takes. */
export async function replayAll(client: ControlClient, filter: ReplayBody): Promise<ReplayedAll> {
  const { type, endpoint } = filter
  const narrowed = { ...(type !== undefined && { type }), ...(endpoint !== undefined && { endpoint }) }
  const [newest] = await client.deliveries({ limit: 1 })
  const { matched, replayed } = await client.replayAll(filter)
  // Those that fail again at once match anew, behind all others: no more are asked for than matched at first.
  for (let [done, last] = [replayed, replayed]; last > 0 && done < matched; done += last) {
    ;({ replayed: last } = await client.replayAll(filter))
  }

  /** Newest first. Ids are of one length, and grow. */
  async function newerThan(id: string): Promise<readonly DeliveryJson[]> {
    const found: DeliveryJson[] = []
    for (;;) {
      const oldest = found.at(-1)
      const after = oldest === undefined ? {} : { after: oldest.deliveryId }
      const page = await client.deliveries({ ...narrowed, ...after, limit: perPage })
      const newer = page.filter(({ deliveryId }) => deliveryId > id)
      found.push(...newer)
      if (newer.length < perPage) return found.filter(({ isReplay }) => isReplay)
    }
  }

  const before = newest?.deliveryId ?? ''
  return {
    replays: (await newerThan(before)).toReversed(),
    async look(replays) {
      const byId = new Map((await newerThan(before)).map((delivery) => [delivery.deliveryId, delivery]))
      return replays.map((item) => {
        const delivery = byId.get(item.deliveryId)
        return { item, deliveries: delivery === undefined ? [] : [delivery] }
      })
    },
  }
}
