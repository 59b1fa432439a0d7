import { InboxError } from '../errors.ts'
import type { NewEvent, QuarantinedBody, Subscription, SubscriptionPort, ViewPort } from '../inbox/port.ts'
import { safeText } from '../log.ts'
import { toReplayJson, toSubscriptionJson, type ReplayJson, type SubscriptionJson } from './json.ts'
import {
  parseBody,
  beginSubscriptionBody,
  dropDeadBody,
  dropHandlerBody,
  dropQuarantineBody,
  endSubscriptionBody,
  handlerBody,
  pruneBody,
  quarantineBody,
  replayBody,
  requeueBody,
} from './bodies.ts'

/** What an operator can do. Bodies come as they were sent, and are checked: `bad_request`, `not_found`. */
export interface OperatorActs {
  /** Takes `{"run_ids": […]}` or `{"all": true}`. Asked again it finds nothing left to do. */
  requeueDead(body: unknown): Promise<{ readonly requeued: number }>
  /** The same with a `reason`. */
  dropDead(body: unknown): Promise<{ readonly dropped: number }>
  /** Of one handler, or with null of all together. */
  setPaused(handler: string | null, paused: boolean): Promise<PausedJson>
  /** Takes `{"concurrency": 4}`, or null for what the handler says itself. */
  changeHandler(
    handler: string,
    body: unknown,
  ): Promise<{ readonly handler: string; readonly concurrency: number | null }>
  /** Takes a `reason`; ends the open runs of a handler. */
  dropRuns(handler: string, body: unknown): Promise<{ readonly handler: string; readonly dropped: number }>
  /** Takes `{"ids": […]}`, or `{"all": true}`: tries to read them as events once more. */
  retryQuarantined(body: unknown): Promise<RetriedJson>
  /** Takes `{"ids": […], "reason": "…"}`. */
  dropQuarantined(body: unknown): Promise<{ readonly dropped: number }>
  /** Takes a filter, `per_second`, `new_keys`; with `dryRun` it only counts. Throws `not_found` that names ids that no event has. */
  startReplay(body: unknown): Promise<ReplayJson | ReplayCountJson>
  /** `cancelled`: whether there was anything to cancel. */
  cancelReplay(id: string): Promise<CancelledJson>
  /** Takes `older_than_days`, `max_bytes` or both; gives how much was pruned. */
  prune(body: unknown): Promise<PrunedJson>
  /** Says that what is missing or lost is dealt with. */
  acknowledgeGaps(): Promise<AcknowledgedJson>
  /** Takes what is wanted, its digest, and the id of what it `replaces`. Null: something else stands there by now. */
  beginSubscription(body: unknown): Promise<FoundSubscriptionJson>
  /** Takes a `state` and an `answer`. Gives what stands there now. */
  endSubscription(id: string, body: unknown): Promise<EndedSubscriptionJson>
}

/** Null: there is none. */
export interface FoundSubscriptionJson {
  readonly subscription: SubscriptionJson | null
}

/** What is registered now, and which one has ended how. `url` is null where there is a newer one. */
export interface EndedSubscriptionJson extends FoundSubscriptionJson {
  readonly ended: Pick<SubscriptionJson, 'id' | 'state'> & { readonly url: string | null }
}

export interface PausedJson {
  readonly handler: string | null
  readonly paused: boolean
}

/** How many missing events, and times out of service with lost ones, there had been. */
export interface AcknowledgedJson {
  readonly missing_sequence_numbers: number
  readonly gaps: number
}

/** `quarantined`: bodies in quarantine. `too_large`: it is larger than was asked for, and nothing is left that may be pruned. */
export interface PrunedJson {
  readonly events: number
  readonly quarantined: number
  readonly too_large: boolean
}

/** `skipped`: events whose bodies are no longer kept. */
export interface ReplayCountJson {
  readonly dry_run: true
  readonly events: number
  readonly skipped: number
}

/** Whether this call cancelled it; one that has ended stays as it ended. */
export interface CancelledJson extends ReplayJson {
  readonly cancelled: boolean
}

export interface RetriedJson {
  readonly accepted: number
  /** Events that were known already. */
  readonly known: number
  /** How many are no usable event still; the first 100 of them by id, with the reason. */
  readonly still_unusable: number
  readonly unusable: readonly { readonly id: string; readonly reason: string }[]
}

/** Reads a body as an event, as the receiver does; or says why it is none. */
export type ReadEvent = (body: Pick<QuarantinedBody, 'raw' | 'secretLabel' | 'receivedAt'>) => NewEvent | string

export interface ActOptions {
  readonly inbox: ViewPort & SubscriptionPort
  readonly readEvent: ReadEvent
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Called when a handler is to run more or fewer at once. */
  readonly onConcurrency?: (handler: string, concurrency: number | null) => void
  /** Called when runs that were handed out are not to start any more, of one handler or, with null, of any. */
  readonly onRecall?: (handler: string | null) => void
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const pageSize = 200
const mostListed = 100
const mostNamed = 20
const dayMs = 24 * 3_600_000

export function createOperatorActs({ inbox, readEvent, now, onConcurrency, onRecall }: ActOptions): OperatorActs {
  async function noHandler(name: string): Promise<InboxError> {
    const names = (await inbox.stats()).handlers.map(({ handler }) => handler)
    const known = names.length === 0 ? 'none was ever loaded' : `expected one of ${names.join(', ')}`
    return new InboxError('not_found', `there is no handler ${JSON.stringify(name)}, and never was: ${known}`)
  }

  async function retryOne(id: string, found: Mutable<RetriedJson>): Promise<boolean> {
    const body = await inbox.quarantined(id)
    if (body === null) return false
    const event = readEvent(body)
    if (typeof event === 'string') {
      found.still_unusable += 1
      if (found.unusable.length < mostListed) found.unusable = [...found.unusable, { id, reason: event }]
      return true
    }
    const result = await inbox.retryQuarantined(id, event)
    if (result === 'accepted') found.accepted += 1
    else if (result !== null) found.known += 1
    return true
  }

  async function checkIds(ids: readonly string[]): Promise<void> {
    const unknown = [...new Set(await inbox.unknownIds(ids))]
    if (unknown.length === 0) return
    const named = unknown.slice(0, mostNamed).map((id) => safeText(id))
    const others = unknown.length > mostNamed ? ` and ${unknown.length - mostNamed} more` : ''
    const what = unknown.length === 1 ? 'there is no event with the id' : 'there are no events with the ids'
    throw new InboxError('not_found', `${what} ${named.join(', ')}${others}; nothing was started`)
  }

  async function* allQuarantined(): AsyncGenerator<string> {
    let cursor: string | null = null
    do {
      const page = await inbox.quarantine({ limit: pageSize, ...(cursor !== null && { cursor }) })
      for (const { id } of page.data) yield id
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  return {
    async requeueDead(body) {
      const which = parseBody(requeueBody, body)
      return { requeued: await inbox.requeueDead('all' in which ? 'all' : which.run_ids) }
    },
    async dropDead(body) {
      const which = parseBody(dropDeadBody, body)
      return { dropped: await inbox.dropDead('all' in which ? 'all' : which.run_ids, which.reason) }
    },
    async setPaused(handler, paused) {
      if (!(await inbox.setPaused(handler, paused))) throw await noHandler(handler ?? '')
      if (paused) onRecall?.(handler)
      return { handler, paused }
    },
    async changeHandler(handler, body) {
      const { concurrency } = parseBody(handlerBody, body)
      if (!(await inbox.setConcurrency(handler, concurrency))) throw await noHandler(handler)
      onConcurrency?.(handler, concurrency)
      return { handler, concurrency }
    },
    async dropRuns(handler, body) {
      const { reason } = parseBody(dropHandlerBody, body)
      const dropped = await inbox.dropOpenRuns(handler, reason)
      if (dropped === null) throw await noHandler(handler)
      return { handler, dropped }
    },
    async retryQuarantined(body) {
      const which = parseBody(quarantineBody, body)
      const found = { accepted: 0, known: 0, still_unusable: 0, unusable: [] }
      if ('all' in which) {
        for await (const id of allQuarantined()) await retryOne(id, found)
        return found
      }
      for (const id of which.ids) {
        if (!(await retryOne(id, found))) {
          throw new InboxError('not_found', `there is no body in quarantine with the id ${id}`)
        }
      }
      return found
    },
    async dropQuarantined(body) {
      const { ids, reason } = parseBody(dropQuarantineBody, body)
      let dropped = 0
      for (const id of ids) if (await inbox.dropQuarantined(id, reason)) dropped++
      return { dropped }
    },
    async prune(body) {
      const { older_than_days: days, max_bytes: maxBytes } = parseBody(pruneBody, body)
      const receivedBefore = days === null ? null : now() - days * dayMs
      const { isTooLarge, ...pruned } = await inbox.prune({ receivedBefore, maxBytes }, 'noted')
      return { ...pruned, too_large: isTooLarge }
    },
    async acknowledgeGaps() {
      const { missingSeqs, gaps } = await inbox.acknowledgeGaps()
      return { missing_sequence_numbers: missingSeqs, gaps }
    },
    async beginSubscription(body) {
      const { replaces, secret_label: secretLabel, ...wanted } = parseBody(beginSubscriptionBody, body)
      return toFoundJson(await inbox.beginSubscription({ ...wanted, secretLabel, at: now() }, replaces))
    },
    async endSubscription(id, body) {
      if (!/^\d{1,15}$/.test(id)) throw new InboxError('not_found', 'there is no registration with this id')
      const end = parseBody(endSubscriptionBody, body)
      const newest = await inbox.subscription()
      await inbox.endSubscription(Number(id), end)
      const url = newest?.id === Number(id) ? newest.url : null
      return { ...toFoundJson(await inbox.subscription()), ended: { id: Number(id), state: end.state, url } }
    },
    async startReplay(body) {
      const { dryRun, per_second: perSecond, new_keys: newKeys, ...filter } = parseBody(replayBody, body)
      await checkIds(filter.ids ?? [])
      if (dryRun) return { dry_run: true, ...(await inbox.countReplay(filter)) }
      return toReplayJson(await inbox.startReplay({ filter, perSecond, newKeys }))
    },
    async cancelReplay(id) {
      const replay = await findReplay(inbox, id)
      const cancelled = await inbox.cancelReplay(replay.id)
      onRecall?.(null)
      return { ...toReplayJson(await findReplay(inbox, id)), cancelled }
    },
  }
}

export function toFoundJson(found: Subscription | null): FoundSubscriptionJson {
  return { subscription: found && toSubscriptionJson(found) }
}

/** A replay by its id as text. Throws `not_found`. */
export async function findReplay(inbox: Pick<ViewPort, 'replay'>, id: string) {
  const replay = /^\d{1,15}$/.test(id) ? await inbox.replay(Number(id)) : null
  if (replay === null) throw new InboxError('not_found', 'there is no replay with this id')
  return replay
}
