import { z } from 'zod'
import { ControlError } from './answers.ts'
import { sessionTokens } from './guard.ts'
import { route, streamKinds, taken, type Route, type StreamKind } from './route.ts'

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

/** What happens, as it happens, as Server-Sent Events. */
export const streamRoutes: readonly Route[] = [
  route('GET', '/stream', {
    query: streamQuery,
    answer({ stream, sessions }, { query: { types: kinds }, request, response }) {
      const tokens = sessionTokens(request)
      const isOfSession = sessions.userOf(tokens) !== null
      const mayStay = () => !isOfSession || sessions.userOf(tokens) !== null
      if (stream.subscribe(response, { kinds, mayStay })) return taken
      const message = 'as many listen to the stream as can at once; close another, or try again in 15 s'
      throw new ControlError(503, 'too_many_streams', message, { headers: { 'Retry-After': '15' } })
    },
  }),
]
