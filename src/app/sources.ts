import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { createWebhookSecrets } from '../config/secrets.ts'
import type { ConfiguredSource } from '../config/sources.ts'
import type { SourceKeyPort } from '../inbox/port.ts'
import { createKeyCache } from '../sources/keys.ts'

export interface SourcesOptions {
  readonly inbox: SourceKeyPort
  readonly clock: Clock
  readonly log: Logger
}

/** Watches the secrets of the sources, and caches their fetched keys. */
export function runSources(configured: readonly ConfiguredSource[], options: SourcesOptions) {
  const { inbox, clock, log } = options
  const running = configured.map(({ settings, secrets: origin, apiKey }) => {
    const { name: source, keyEndpoint: endpoint } = settings
    const secrets = createWebhookSecrets(origin, log.child({ source }), clock)
    const keys = endpoint && createKeyCache({ source, endpoint, apiKey, storage: inbox, clock, fetch, log })
    return { secrets, source: { ...settings, secrets: () => secrets.current(), keys } }
  })
  return {
    sources: running.map(({ source }) => source),
    /** Labels of all secrets, as events have them: `<source>/<label>`. */
    labels: () =>
      running.flatMap(({ secrets, source }) => secrets.current().map(({ label }) => `${source.name}/${label}`)),
    /** Reads the files with secrets again. */
    async reload() {
      await Promise.all(running.map(({ secrets }) => secrets.reload()))
    },
    close() {
      for (const { secrets } of running) secrets.close()
    },
  }
}
