import { createClient } from '../client/index.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/config.ts'
import type { ReconcilerOptions } from '../health/reconcile.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { createReceiverRegistration } from '../client/registration/at-start.ts'
import type { SecretsSource } from '../config/secrets.ts'

interface AccessOptions {
  readonly config: Pick<Config, 'api' | 'subscribe'>
  readonly clock: Clock
  readonly log: Logger
}

/** A client of its own for each reconcile: its pace is that of the plan. Null: there is no access to the service. */
export function reconcileClientOf({ config: { api }, log, clock }: AccessOptions): ReconcilerOptions['client'] {
  if (api === undefined) return null
  return (signal, onRequest) =>
    createClient({
      baseUrl: api.url,
      apiKey: api.key,
      clock,
      log,
      signal,
      fetch(...request) {
        onRequest()
        return fetch(...request)
      },
    })
}

/** Registers the receiver with the service once it listens, if the settings say so. */
export function registrationOf({ config, log, clock }: AccessOptions, inbox: Inbox, secrets: SecretsSource) {
  const { subscribe, api } = config
  if (subscribe === undefined || api === undefined) return undefined
  const { url, events, secret: secretLabel } = subscribe
  return createReceiverRegistration({
    inbox,
    client: () => createClient({ baseUrl: api.url, apiKey: api.key, retries: 0, clock, log }),
    wanted: { url, events, secretLabel },
    secret: () =>
      secrets
        .current()
        .find(({ label }) => label === secretLabel)
        ?.key.export()
        .toString(),
    clock,
    log,
  })
}
