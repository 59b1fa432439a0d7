import { createConsolePages } from '../admin/pages.ts'
import { createAdminApp, type AdminAppOptions } from '../admin/server.ts'
import { resolveAdminToken } from '../admin/token-file.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/config.ts'
import { describeSettings } from '../config/described.ts'
import { startHttpServer } from '../base/http/server.ts'
import { isLoopback } from '../base/loopback.ts'
import { readAsEvent } from '../receiver/ingest.ts'

/** What does not follow from the settings. */
export type AdminSources = Omit<
  AdminAppOptions,
  'pages' | 'token' | 'viewerToken' | 'hosts' | 'settings' | 'readEvent' | 'now' | 'clock'
> & { readonly clock: Clock }

/** A large act, pruning for instance, is answered when it is done. */
const timeoutMs = 300_000
/** More than can listen to the live stream, so that there are some left for everything else. */
const maxConnections = 250

const beyondLoopback =
  'the admin side can be reached from other machines, and has no TLS of its own: whoever is between can read its tokens. Have it ' +
  'listen on 127.0.0.1 behind a proxy with TLS, or allow none but that proxy to reach it'

/** Starts the admin side; `opened` ends it: first the streams, then all else. */
export async function startAdmin(
  opened: AsyncDisposableStack,
  config: Config,
  sources: AdminSources,
): Promise<{ readonly url: string; readonly token: string }> {
  const { host, port, hosts, viewerToken } = config.admin
  const described = describeSettings(config)
  const token = await resolveAdminToken(config)
  const app = createAdminApp({
    ...sources,
    pages: await createConsolePages(),
    token,
    viewerToken,
    hosts: [host, ...hosts],
    readEvent: readAsEvent,
    now: () => sources.clock.now(),
    settings: () => described,
  })
  const server = await startHttpServer({
    host,
    port,
    portSetting: 'INBOX_ADMIN_PORT',
    maxConnections,
    socketTimeoutMs: timeoutMs,
    keepAliveMs: config.keepAliveMs,
    handler: app,
  })
  opened.defer(() => server.close(0))
  opened.defer(() => app.close())
  if (!isLoopback(host)) sources.log.warn({ adminUrl: server.url }, beyondLoopback)
  return { url: server.url, token }
}
