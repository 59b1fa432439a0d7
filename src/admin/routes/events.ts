import { z } from 'zod'
import { eventDetail, eventList } from '../answers/events.ts'
import { cancelledReplay, replay, replayCount, replayList } from '../answers/letters.ts'
import { replayBody } from '../bodies.ts'
import { eventParameters, pageParameters } from '../parameters.ts'
import { route, type Route } from './route.ts'

const eventId = { name: 'id', description: "The sender's id of the event." }
const replayId = { name: 'id', description: 'The number of the replay.' }
const replayed = z.union([replay, replayCount])

export const eventRoutes: readonly Route[] = [
  route({
    id: 'listEvents',
    group: 'events',
    method: 'get',
    path: '/events',
    summary: 'List stored events, newest first',
    query: eventParameters,
    gives: eventList,
    answer: (access, { query }) => access.listEvents(query),
  }),
  route({
    id: 'getEvent',
    group: 'events',
    method: 'get',
    path: '/events/:id',
    param: eventId,
    summary: 'Show an event: envelope, receipt, and what its handlers did',
    gives: eventDetail,
    answer: (access, { id }) => access.showEvent(id),
  }),
  route({
    id: 'replayEvent',
    group: 'events',
    method: 'post',
    path: '/events/:id/replay',
    param: eventId,
    summary: 'Have one event handled again',
    gives: replayed,
    logged: 'a replay was started by the admin API',
    answer: (access, { id, by }) => access.replayEvent(id, by),
  }),
  route({
    id: 'listReplays',
    group: 'replays',
    method: 'get',
    path: '/replays',
    summary: 'List replays, newest first',
    query: pageParameters,
    gives: replayList,
    answer: (access, { query }) => access.listReplays(query),
  }),
  route({
    id: 'startReplay',
    group: 'replays',
    method: 'post',
    path: '/replays',
    summary: 'Have the events that a filter finds handled again, or count them',
    body: replayBody,
    gives: replayed,
    refuses: ['not_found'],
    logged: 'a replay was started by the admin API',
    isDone: isNoDryRun,
    answer: (access, { body, by }) => access.startReplay(body, by),
  }),
  route({
    id: 'getReplay',
    group: 'replays',
    method: 'get',
    path: '/replays/:id',
    param: replayId,
    summary: 'Show how far a replay is',
    gives: replay,
    answer: (access, { id }) => access.showReplay(id),
  }),
  route({
    id: 'cancelReplay',
    group: 'replays',
    method: 'post',
    path: '/replays/:id/cancel',
    param: replayId,
    summary: 'Cancel a replay; one that has ended stays as it ended',
    gives: cancelledReplay,
    logged: 'a replay was cancelled by the admin API',
    isDone: (answer) => 'cancelled' in answer && answer.cancelled === true,
    answer: (access, { id, by }) => access.cancelReplay(id, by),
  }),
]

/** Whether an answer is of an act that was done, not only counted. */
export function isNoDryRun(answer: object): boolean {
  return !('dry_run' in answer)
}
