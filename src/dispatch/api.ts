import type { ApiClient } from '../client/api.ts'
import { createClientFamily, type ClientFamily } from '../client/client.ts'
import type { Clock } from '../base/clock.ts'
import { TerminalError } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'

/** Base URL and key of the upstream REST API. */
export interface ApiAccess {
  readonly url: string
  readonly key: string
}

/** Returns `ctx.api` for a run. Calls are aborted by the run's signal. Throws TerminalError without access. */
export type ApiFactory = (signal: () => AbortSignal) => ApiClient

/** Clients share one pacer. They are created on first use, because most handlers need none. */
export function createApiFactory(access: ApiAccess | undefined, clock: Clock, log: Logger): ApiFactory {
  if (access === undefined) return noApi
  let family: ClientFamily | undefined
  return (signal) => {
    family ??= createClientFamily({ baseUrl: access.url, apiKey: access.key, clock, log })
    return family(signal)
  }
}

export const noApi: ApiFactory = () => {
  throw new TerminalError(
    'ctx.api needs access to the upstream REST API: set INBOX_API_URL and INBOX_API_KEY (or INBOX_API_KEY_FILE), ' +
      'the options apiUrl and apiKey of createInbox, or the option api of createTestInbox',
  )
}
