import { InboxError } from '../../errors.ts'
import type { NewEvent, QuarantinedBody, ViewPort } from '../../inbox/port.ts'
import type { DroppedBodiesJson, RetriedJson } from '../answers/letters.ts'
import { dropQuarantineBody, parseBody, quarantineBody } from '../bodies.ts'

/**
 * What can be done with bodies in quarantine. `by`: who does it, for the audit.
 */
export interface QuarantineActs {
  /**
   * Takes `{"ids": […]}`, `{"all": true}` or `{"filter": {…}}`: tries to read them as events once more. With `dryRun` nothing is stored.
   * Throws `not_found` for an id that is not there, before anything is done.
   */
  retryQuarantined(body: unknown, by?: string): Promise<RetriedJson>
  /** The same with a `reason`. What is not there counts for nothing, so that it can be asked for again. */
  dropQuarantined(body: unknown, by?: string): Promise<DroppedBodiesJson>
}

/** Reads a body as an event, as the receiver does; or says why it is none. */
export type ReadEvent = (body: Pick<QuarantinedBody, 'raw' | 'secretLabel' | 'receivedAt'>) => NewEvent | string

type QuarantinePort = Pick<
  ViewPort,
  'quarantine' | 'quarantined' | 'retryQuarantined' | 'dropQuarantined' | 'unknownIds'
>

interface Which {
  readonly ids?: readonly string[]
  readonly all?: true
  readonly filter?: { readonly reason: string }
}

const pageSize = 200
const mostListed = 100

export function createQuarantineActs(inbox: QuarantinePort, readEvent: ReadEvent): QuarantineActs {
  /** The ids of what was asked for, a page at a time. */
  async function* idsOf({ ids, filter }: Which): AsyncGenerator<string> {
    if (ids !== undefined) return yield* new Set(ids)
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<QuarantinePort['quarantine']>> = await inbox.quarantine({
        ...filter,
        limit: pageSize,
        ...(cursor !== null && { cursor }),
      })
      for (const { id } of page.data) yield id
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  async function checkIds({ ids = [] }: Which): Promise<void> {
    for (const id of ids) {
      if ((await inbox.quarantined(id)) !== null) continue
      throw new InboxError('not_found', `there is no body in quarantine with the id ${id}: nothing was done`)
    }
  }

  /** What becomes, or with `dryRun` would become, of a body; null if somebody took it out meanwhile. */
  async function retryOne(id: string, dryRun: boolean, by?: string) {
    const body = await inbox.quarantined(id)
    if (body === null) return null
    const event = readEvent(body)
    if (typeof event === 'string') return { reason: event }
    if (dryRun) return (await inbox.unknownIds([event.id])).length === 0 ? 'known' : 'accepted'
    const result = await inbox.retryQuarantined(id, event, by)
    return result === null || result === 'accepted' ? result : 'known'
  }

  return {
    async retryQuarantined(body, by) {
      const { dryRun, ...which } = parseBody(quarantineBody, body)
      await checkIds(which)
      const found: RetriedJson = { accepted: 0, known: 0, still_unusable: 0, unusable: [] }
      for await (const id of idsOf(which)) {
        const result = await retryOne(id, dryRun, by)
        if (result === null) continue
        if (typeof result === 'string') found[result] += 1
        else {
          found.still_unusable += 1
          if (found.unusable.length < mostListed) found.unusable.push({ id, reason: result.reason })
        }
      }
      return dryRun ? { ...found, dry_run: true } : found
    },
    async dropQuarantined(body, by) {
      const { dryRun, reason, ...which } = parseBody(dropQuarantineBody, body)
      let dropped = 0
      for await (const id of idsOf(which)) {
        const isThere = dryRun ? (await inbox.quarantined(id)) !== null : await inbox.dropQuarantined(id, reason, by)
        if (isThere) dropped++
      }
      return dryRun ? { dropped, dry_run: true } : { dropped }
    },
  }
}
