import type { IncomingMessage, ServerResponse } from 'node:http'
import { readCookies, toCookie } from '../../base/http/session/cookie.ts'
import { sessionHours } from '../session/sessions.ts'

const name = 'emulator_session'

/** What a request has as its session of the dashboard. */
export function sessionTokens(request: IncomingMessage): readonly string[] {
  return readCookies(request, name)
}

/** Has the client keep the token of its session; null: forget it. */
export function keepSession(request: IncomingMessage, response: ServerResponse, token: string | null): void {
  const maxAgeS = token === null ? 0 : sessionHours * 3_600
  response.setHeader('Set-Cookie', toCookie(name, token ?? '', { maxAgeS, isSecure: 'encrypted' in request.socket }))
}
