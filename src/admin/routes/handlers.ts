import { concurrencyAnswer, droppedRuns, handlerList, pausedAnswer } from '../answers/handlers.ts'
import { dropHandlerBody, handlerBody } from '../bodies.ts'
import { route, type Route } from './route.ts'

const pausing = 'handlers were paused or resumed by the admin API'
const name = { name: 'name', description: 'The name of a handler.' }

export const handlerRoutes: readonly Route[] = [
  route({
    id: 'listHandlers',
    group: 'handlers',
    method: 'get',
    path: '/handlers',
    summary: 'List handlers and sinks with their settings, open runs and pace',
    gives: handlerList,
    answer: (access) => access.listHandlers(),
  }),
  route({
    id: 'changeHandler',
    group: 'handlers',
    method: 'patch',
    path: '/handlers/:id',
    param: name,
    summary: 'Change how many runs of a handler run at once',
    body: handlerBody,
    gives: concurrencyAnswer,
    logged: 'a handler was changed by the admin API',
    answer: (access, { id, body, by }) => access.changeHandler(id, body, by),
  }),
  route({
    id: 'dropHandlerRuns',
    group: 'handlers',
    method: 'post',
    path: '/handlers/:id/drop',
    param: name,
    summary: 'End all open runs of a handler that was removed',
    body: dropHandlerBody,
    gives: droppedRuns,
    logged: 'the runs of a handler were dropped by the admin API',
    answer: (access, { id, body, by }) => access.dropRuns(id, body, by),
  }),
  route({
    id: 'pauseHandler',
    group: 'handlers',
    method: 'post',
    path: '/handlers/:id/pause',
    param: name,
    summary: 'Hand out no more runs of a handler',
    gives: pausedAnswer,
    logged: pausing,
    answer: (access, { id, by }) => access.setPaused(id, true, by),
  }),
  route({
    id: 'resumeHandler',
    group: 'handlers',
    method: 'post',
    path: '/handlers/:id/resume',
    param: name,
    summary: 'Hand out runs of a handler again',
    gives: pausedAnswer,
    logged: pausing,
    answer: (access, { id, by }) => access.setPaused(id, false, by),
  }),
  route({
    id: 'pauseAll',
    group: 'handlers',
    method: 'post',
    path: '/pause',
    summary: 'Hand out no more runs of any handler; events go on being accepted',
    gives: pausedAnswer,
    logged: pausing,
    answer: (access, { by }) => access.setPaused(null, true, by),
  }),
  route({
    id: 'resumeAll',
    group: 'handlers',
    method: 'post',
    path: '/resume',
    summary: 'Hand out runs again, but for what is paused one by one',
    gives: pausedAnswer,
    logged: pausing,
    answer: (access, { by }) => access.setPaused(null, false, by),
  }),
]
