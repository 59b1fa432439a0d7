import { signedOut } from '../answers/acts.ts'
import { session } from '../answers/health.ts'
import { signInBody } from '../bodies.ts'
import { streamParameters } from '../stream.ts'
import { describeRoute, type RouteText } from './route.ts'

/** Routes that are served apart from the others, since they set cookies, or do not answer in JSON. */
export const routesApart: readonly RouteText[] = [
  describeRoute({
    id: 'getSession',
    group: 'session',
    method: 'get',
    path: '/session',
    summary: 'Show who one is signed in as',
    gives: session,
  }),
  describeRoute({
    id: 'signIn',
    group: 'session',
    method: 'post',
    path: '/session',
    role: 'anyone',
    summary: 'Sign in with a token; the session is kept in a cookie',
    body: signInBody,
    gives: session,
    status: 201,
    refuses: ['unauthorized', 'rate_limited'],
  }),
  describeRoute({
    id: 'signOut',
    group: 'session',
    method: 'delete',
    path: '/session',
    role: 'anyone',
    summary: 'Sign out; idempotent',
    gives: signedOut,
  }),
  describeRoute({
    id: 'getEventBytes',
    group: 'events',
    method: 'get',
    path: '/events/:id/raw',
    param: { name: 'id', description: "The sender's id of the event." },
    summary: 'Get the exact bytes of an event as they came',
    gives: 'bytes',
  }),
  describeRoute({
    id: 'followStream',
    group: 'overview',
    method: 'get',
    path: '/stream',
    summary: 'Follow what happens, as Server-Sent Events',
    query: streamParameters,
    gives: 'stream',
    refuses: ['overloaded'],
  }),
]
