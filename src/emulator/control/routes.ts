import { z } from 'zod'
import { accountRoutes } from './accounts.ts'
import { clockRoutes } from './clock.ts'
import { deliveryRoutes } from './deliveries.ts'
import { faultRoutes } from './faults.ts'
import { route, streamKinds, responseTaken, toTime, type Route, type StreamKind } from './route.ts'
import { sessionRoutes, sessionTokens } from './session.ts'
import { triggerRoutes } from './trigger.ts'
import { journalQuery } from '../rest/journal.ts'
import { worldRoutes } from './world.ts'
import { HttpError } from '../rest/error.ts'

const expected = `expected some of ${streamKinds.join(',')}`
const isKind = (name: string): name is StreamKind => streamKinds.some((kind) => kind === name)

const streamQuery = z.strictObject({
  types: z
    .string()
    .transform((text) => text.split(','))
    .refine((names) => names.every(isKind), expected)
    .transform((names) => new Set(names.filter(isKind)))
    .prefault(streamKinds.join()),
})

/** Live stream (Server-Sent Events). */
const streamRoutes: readonly Route[] = [
  route('GET', '/stream', {
    query: streamQuery,
    answer({ stream, sessions }, { query: { types: kinds }, request, response }) {
      const tokens = sessionTokens(request)
      const isOfSession = sessions.userOf(tokens) !== null
      const mayStay = () => !isOfSession || sessions.userOf(tokens) !== null
      if (stream.subscribe(response, { kinds, mayStay })) return responseTaken
      const message = 'the stream has reached its limit of listeners; close one, or retry in 15 s'
      throw new HttpError(503, 'too_many_streams', message, { headers: { 'Retry-After': '15' } })
    },
  }),
]

const all: readonly Route[] = [
  ...sessionRoutes,
  ...worldRoutes,
  ...streamRoutes,
  ...clockRoutes,
  ...triggerRoutes,
  ...deliveryRoutes,
  ...faultRoutes,

  route('GET', '/journal', {
    query: journalQuery,
    answer: ({ journal }, { query }) => journal.find(query).map((entry) => ({ ...entry, at: toTime(entry.at) })),
  }),
  route('DELETE', '/journal', { answer: ({ journal }) => ({ deleted: journal.clear() }) }),

  ...accountRoutes,
]

const list = all.map(({ method, path }) => ({ method, path: `/_emulator${path}` }))

/** All routes below `/_emulator`. A request without a path returns their list. */
export const routes: readonly Route[] = [...['', '/'].map((path) => route('GET', path, { answer: () => list })), ...all]
