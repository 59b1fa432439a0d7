import { InboxError } from '../../errors.ts'
import type { ReplayRecord, ViewPort } from '../../inbox/port.ts'
import { safeText } from '../../log.ts'
import type { CancelledJson, ReplayCountJson, ReplayJson } from '../answers/letters.ts'
import { parseBody, replayBody } from '../bodies.ts'
import { toReplayJson } from '../json/letters.ts'

export interface ReplayActs {
  /** Takes a filter, `per_second`, `new_keys`; with `dryRun` it only counts. Throws `not_found` that names ids that no event has. */
  startReplay(body: unknown, by?: string): Promise<ReplayJson | ReplayCountJson>
  /** Has one event handled again. Throws `not_found` where it, or its body, is not there. */
  replayEvent(id: string, by?: string): Promise<ReplayJson | ReplayCountJson>
  /** `cancelled`: whether there was anything to cancel. */
  cancelReplay(id: string, by?: string): Promise<CancelledJson>
}

type ReplayPort = Pick<ViewPort, 'event' | 'unknownIds' | 'countReplay' | 'startReplay' | 'cancelReplay' | 'replay'>

const mostNamed = 20

/** `onRecall`: called when runs that were handed out are not to start any more. */
export function createReplayActs(inbox: ReplayPort, onRecall: () => void): ReplayActs {
  async function checkIds(ids: readonly string[]): Promise<void> {
    const unknown = [...new Set(await inbox.unknownIds(ids))]
    if (unknown.length === 0) return
    const named = unknown.slice(0, mostNamed).map((id) => safeText(id))
    const others = unknown.length > mostNamed ? ` and ${unknown.length - mostNamed} more` : ''
    const what = unknown.length === 1 ? 'there is no event with the id' : 'there are no events with the ids'
    throw new InboxError('not_found', `${what} ${named.join(', ')}${others}; nothing was started`)
  }

  async function startReplay(body: unknown, by?: string): Promise<ReplayJson | ReplayCountJson> {
    const { dryRun, per_second: perSecond, new_keys: newKeys, ...filter } = parseBody(replayBody, body)
    await checkIds(filter.ids ?? [])
    if (dryRun) return { dry_run: true, ...(await inbox.countReplay(filter)) }
    return toReplayJson(await inbox.startReplay({ filter, perSecond, newKeys }, by))
  }

  return {
    startReplay,
    async replayEvent(id, by) {
      const event = await inbox.event(id)
      if (event === null) throw noEvent()
      if (event.raw.length === 0) throw bodyGone()
      return startReplay({ ids: [id] }, by)
    },
    async cancelReplay(id, by) {
      const replay = await findReplay(inbox, id)
      const cancelled = await inbox.cancelReplay(replay.id, by)
      onRecall()
      return { ...toReplayJson(await findReplay(inbox, id)), cancelled }
    },
  }
}

/** A replay by its id as text. Throws `not_found`. */
export async function findReplay(inbox: Pick<ViewPort, 'replay'>, id: string): Promise<ReplayRecord> {
  const replay = /^\d{1,15}$/.test(id) ? await inbox.replay(Number(id)) : null
  if (replay === null) throw new InboxError('not_found', 'there is no replay with this id')
  return replay
}

export function noEvent(): InboxError {
  return new InboxError('not_found', 'there is no event with this id')
}

export function bodyGone(): InboxError {
  return new InboxError('not_found', 'the body of this event was pruned: its bytes are no longer kept')
}
