import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { InboxError } from '../errors.ts'
import type { EventDetail, ViewPort } from '../inbox/port.ts'
import {
  toBuffer,
  toDeadLetterJson,
  toEventDetailJson,
  toEventSummaryJson,
  toHandlerJson,
  toListJson,
  toQuarantinedDetailJson,
  toQuarantinedJson,
  type DeadLetterJson,
  type EventDetailJson,
  type EventSummaryJson,
  type ListJson,
} from './json.ts'
import { eventParameters, pageParameters, parseParameters, parseRequeue } from './parameters.ts'

/** Parameters as they came: text by name. */
export type Query = Readonly<Record<string, unknown>>

/** What commands and the admin API do with events. Everything is checked: `bad_request`, `not_found`. */
export interface EventAccess {
  listEvents(query: Query): Promise<ListJson<EventSummaryJson>>
  showEvent(id: string): Promise<EventDetailJson>
  /** The exact bytes as they came. */
  rawEvent(id: string): Promise<Buffer>
  listDead(query: Query): Promise<ListJson<DeadLetterJson>>
  /** Takes `{"run_ids": […]}` or `{"all": true}`. Asked again it finds nothing left to do. */
  requeueDead(which: unknown): Promise<{ readonly requeued: number }>
}

/** The same over an inbox in this process. */
export function createEventAccess(inbox: ViewPort): EventAccess {
  async function find(id: string): Promise<EventDetail> {
    const event = await inbox.event(id)
    if (event === null) throw new InboxError('not_found', 'there is no event with this id')
    return event
  }

  return {
    listEvents: async (query) =>
      toListJson(await inbox.events(parseParameters(eventParameters, query)), toEventSummaryJson),
    showEvent: async (id) => toEventDetailJson(await find(id)),
    rawEvent: async (id) => toBuffer((await find(id)).raw),
    listDead: async (query) =>
      toListJson(await inbox.deadLetters(parseParameters(pageParameters, query)), toDeadLetterJson),
    requeueDead: async (which) => ({ requeued: await inbox.requeueDead(parseRequeue(which)) }),
  }
}

/** A page of the quarantine. */
export async function listQuarantine(inbox: Pick<ViewPort, 'quarantine'>, query: Query) {
  return toListJson(await inbox.quarantine(parseParameters(pageParameters, query)), toQuarantinedJson)
}

/** A body of the quarantine with its bytes. */
export async function showQuarantined(inbox: Pick<ViewPort, 'quarantined'>, id: string) {
  const body = await inbox.quarantined(id)
  if (body === null) throw new InboxError('not_found', 'there is no body in quarantine with this id')
  return toQuarantinedDetailJson(body)
}

/** All handlers that are loaded, and those that are gone but left runs behind. */
export async function listHandlers(inbox: Pick<ViewPort, 'stats'>, handlers: readonly HandlerInfo[]) {
  const stats = new Map((await inbox.stats()).handlers.map((row) => [row.handler, row]))
  const infos = new Map(handlers.map((info) => [info.name, info]))
  const names = [...new Set([...infos.keys(), ...stats.keys()])].toSorted()
  return { data: names.map((name) => toHandlerJson(name, infos.get(name), stats.get(name))), next_cursor: null }
}
