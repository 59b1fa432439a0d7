import { InboxError } from '../../errors.ts'
import type { EventDetail, ViewPort } from '../../inbox/port.ts'
import type { ListJson } from '../answers/common.ts'
import type { EventDetailJson, EventListJson } from '../answers/events.ts'
import type {
  ConflictDetailJson,
  ConflictJson,
  DeadGroupsJson,
  DeadLetterJson,
  QuarantinedDetailJson,
  QuarantinedJson,
  QuarantineGroupsJson,
  ReplayJson,
} from '../answers/letters.ts'
import { bodyGone, findReplay, noEvent } from '../acts/replays.ts'
import { toBuffer, toListJson } from '../json/common.ts'
import { toEventDetailJson, toEventListJson } from '../json/events.ts'
import {
  toConflictDetailJson,
  toConflictJson,
  toDeadGroupsJson,
  toDeadLetterJson,
  toQuarantinedDetailJson,
  toQuarantinedJson,
  toQuarantineGroupsJson,
  toReplayJson,
} from '../json/letters.ts'
import {
  conflictParameters,
  deadGroupParameters,
  deadParameters,
  eventParameters,
  pageParameters,
  parseParameters,
  quarantineParameters,
} from '../parameters.ts'

/** Parameters as they came: text by name. */
export type Query = Readonly<Record<string, unknown>>

/** Stored events, and what became of them. Throws `bad_request`, `not_found`. */
export interface EventViews {
  listEvents(query: Query): Promise<EventListJson>
  showEvent(id: string): Promise<EventDetailJson>
  /** The exact bytes as they came. */
  rawEvent(id: string): Promise<Buffer>
  listDead(query: Query): Promise<ListJson<DeadLetterJson>>
  /** By the number of its run. */
  showDead(runId: string): Promise<DeadLetterJson>
  listQuarantine(query: Query): Promise<ListJson<QuarantinedJson>>
  showQuarantined(id: string): Promise<QuarantinedDetailJson>
  listReplays(query: Query): Promise<ListJson<ReplayJson>>
  showReplay(id: string): Promise<ReplayJson>
}

/** What stands beside them, for the console. */
export interface GroupViews {
  groupDead(query: Query): Promise<DeadGroupsJson>
  groupQuarantine(): Promise<QuarantineGroupsJson>
  listConflicts(query: Query): Promise<ListJson<ConflictJson>>
  /** By the id of its event, and the `digest` of the other bytes. */
  showConflict(id: string, query: Query): Promise<ConflictDetailJson>
}

export function createEventViews(inbox: ViewPort): EventViews {
  async function find(id: string): Promise<EventDetail> {
    const event = await inbox.event(id)
    if (event === null) throw noEvent()
    return event
  }

  return {
    listEvents: async (query) => toEventListJson(await inbox.events(parseParameters(eventParameters, query))),
    showEvent: async (id) => toEventDetailJson(await find(id)),
    async rawEvent(id) {
      const { raw } = await find(id)
      if (raw.length === 0) throw bodyGone()
      return toBuffer(raw)
    },
    listDead: async (query) =>
      toListJson(await inbox.deadLetters(parseParameters(deadParameters, query)), toDeadLetterJson),
    async showDead(runId) {
      const letter = /^\d{1,15}$/.test(runId) ? await inbox.deadLetter(Number(runId)) : null
      if (letter === null) throw new InboxError('not_found', 'there is no dead letter with this number')
      return toDeadLetterJson(letter)
    },
    listQuarantine: async (query) =>
      toListJson(await inbox.quarantine(parseParameters(quarantineParameters, query)), toQuarantinedJson),
    async showQuarantined(id) {
      const body = await inbox.quarantined(id)
      if (body === null) throw new InboxError('not_found', 'there is no body in quarantine with this id')
      return toQuarantinedDetailJson(body)
    },
    listReplays: async (query) => toListJson(await inbox.replays(parseParameters(pageParameters, query)), toReplayJson),
    showReplay: async (id) => toReplayJson(await findReplay(inbox, id)),
  }
}

export function createGroupViews(inbox: ViewPort): GroupViews {
  return {
    groupDead: async (query) => toDeadGroupsJson(await inbox.deadGroups(parseParameters(deadGroupParameters, query))),
    groupQuarantine: async () => toQuarantineGroupsJson(await inbox.quarantineGroups()),
    listConflicts: async (query) =>
      toListJson(await inbox.conflicts(parseParameters(pageParameters, query)), toConflictJson),
    async showConflict(id, query) {
      const { digest } = parseParameters(conflictParameters, query)
      const conflict = await inbox.conflict(id, digest)
      if (conflict === null) {
        throw new InboxError(
          'not_found',
          'no other body with this digest is known to have come with the id of this event',
        )
      }
      return toConflictDetailJson(conflict)
    },
  }
}
