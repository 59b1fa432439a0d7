import { systemClock } from '../../src/base/clock.ts'
import { startHttpServer } from '../../src/base/http/server.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { setUpAdmin, type AdminOverrides } from '../integration/admin-app.ts'

/** An inbox with its admin API, like a running sidecar. Default: in memory. */
export async function createAdminStage({
  token = 'admin-token-of-the-stage',
  inbox: given,
  ...parts
}: AdminOverrides & { readonly token?: string } = {}) {
  const inbox = given ?? (await createMemoryInbox({ clock: systemClock }))
  const times = { clock: systemClock, now: () => systemClock.now() }
  const { admin: handler } = await setUpAdmin({ ...times, ...parts, inbox, token, viewerToken: undefined })
  const limits = { maxConnections: 10, keepAliveMs: 1_000, portSetting: 'INBOX_ADMIN_PORT' }
  const listen = (port: number) => startHttpServer({ host: '127.0.0.1', port, handler, ...limits })
  let server = await listen(0)
  const { port } = server
  const close = () => server.close(0)
  return {
    inbox,
    url: server.url,
    /** Settings by which commands find it. */
    env: { INBOX_ADMIN_PORT: String(port), INBOX_ADMIN_TOKEN: token, INBOX_DATABASE_URL: 'memory:' },
    /** Stops the admin API; `open` restarts it at the same address. */
    close,
    async open() {
      server = await listen(port)
    },
    async [Symbol.asyncDispose]() {
      await close()
      await inbox.close()
    },
  }
}
