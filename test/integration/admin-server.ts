import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createSessions } from '../../src/admin/sessions.ts'
import { send as sendExactly } from '../support/exact-request.ts'
import { adminToken, setUpAdmin, viewerToken, type AdminOverrides } from './admin-app.ts'

export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes are sent unchanged, everything else as JSON. */
  readonly body?: unknown
}

export const tokens = { operator: adminToken, viewer: viewerToken }

/** The admin app on its own port. */
export async function startAdmin(overrides: AdminOverrides = {}) {
  const { app, ...rest } = await setUpAdmin(overrides)
  const answered: { readonly method: string; readonly url: string; readonly status: number }[] = []
  app.on('request', ({ method = '', url = '' }, response) => {
    response.on('finish', () => answered.push({ method, url, status: response.statusCode }))
  })
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  const { port } = app.address() as AddressInfo
  const cookie = `inbox_session_${port}`

  const send = (path: string, { method = 'GET', headers = {}, body }: Sent = {}) =>
    sendExactly({ host: '127.0.0.1', port, path }, method, headers, body)

  return {
    ...rest,
    port,
    cookie,
    /** Requests with the status of their responses. */
    answered,
    send,
    /** Cuts all connections, such as live streams. */
    breakConnections: () => app.closeAllConnections(),
    /** Calls the API as operator. `path` is below `/api/v1`. */
    call: (method: string, path: string, body?: unknown) =>
      send(`/api/v1${path}`, { method, headers: { Authorization: `Bearer ${adminToken}` }, body }),
    /** Cookie header with a session. */
    withCookie: (value: string) => ({ Cookie: `${cookie}=${value}` }),
    /** Signs in; returns the cookie header. */
    async signIn(token: string) {
      const { status, headers } = await send('/api/v1/session', { method: 'POST', body: { token } })
      const [set = ''] = headers['set-cookie'] ?? []
      if (status !== 201) throw new Error(`the sign-in was answered with ${status}`)
      return { Cookie: set.split(';')[0] ?? '' }
    },
    async [Symbol.asyncDispose]() {
      rest.admin.close()
      app.closeAllConnections()
      app.close()
      await once(app, 'close')
      await rest.inbox.close()
    },
  }
}

/** A session that began at `now` on a server with these tokens. */
export function sessionValue(role: 'operator' | 'viewer', now: number, of = tokens): string {
  return createSessions({ tokens: of, now: () => now }).begin(role).value
}
