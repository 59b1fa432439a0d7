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
  type HandlerJson,
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
  /** All handlers that are loaded, and those that are gone but left runs behind. */
  listHandlers(): Promise<HandlersJson>
  /** Of one handler, or with null of all together. */
  setPaused(handler: string | null, paused: boolean): Promise<PausedJson>
}

/** `paused`: whether all handlers are paused together. */
export interface HandlersJson extends ListJson<HandlerJson> {
  readonly paused: boolean
}

export interface PausedJson {
  readonly handler: string | null
  readonly paused: boolean
}

/** The same over an inbox in this process, whose loaded handlers `loaded` tells. */
export function createEventAccess(inbox: ViewPort, loaded: () => readonly HandlerInfo[] = () => []): EventAccess {
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
    listHandlers: () => listHandlers(inbox, loaded()),
    async setPaused(handler, paused) {
      if (await inbox.setPaused(handler, paused)) return { handler, paused }
      throw new InboxError('not_found', 'there is no handler of this name, and never was')
    },
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

async function listHandlers(inbox: Pick<ViewPort, 'stats'>, handlers: readonly HandlerInfo[]): Promise<HandlersJson> {
  const { paused, handlers: counted } = await inbox.stats()
  const stats = new Map(counted.map((row) => [row.handler, row]))
  const infos = new Map(handlers.map((info) => [info.name, info]))
  const names = [...new Set([...infos.keys(), ...stats.keys()])].toSorted()
  const data = names.map((name) => toHandlerJson(name, infos.get(name), stats.get(name)))
  return { paused, data, next_cursor: null }
}
