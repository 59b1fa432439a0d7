import type { ApiClient } from '../client/api.ts'
import { createClientFamily, type ClientFamily } from '../client/client.ts'
import type { Clock } from '../base/clock.ts'
import { TerminalError } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'

/** Where the REST service is, and the key to it. */
export interface ApiAccess {
  readonly url: string
  readonly key: string
}

/** Gives `ctx.api` to a run; its calls end with the signal of that. Throws TerminalError where there is none. */
export type ApiSource = (signal: () => AbortSignal) => ApiClient

/** Clients that are paced together, made when the first is asked for: most handlers ask for none. */
export function createApiSource(access: ApiAccess | undefined, clock: Clock, log: Logger): ApiSource {
  if (access === undefined) return noApi
  let family: ClientFamily | undefined
  return (signal) => {
    family ??= createClientFamily({ baseUrl: access.url, apiKey: access.key, clock, log })
    return family(signal)
  }
}

export const noApi: ApiSource = () => {
  throw new TerminalError(
    'ctx.api: there is no access to the REST service: set INBOX_API_URL and INBOX_API_KEY (or INBOX_API_KEY_FILE); with ' +
      'createInbox the options apiUrl and apiKey, with createTestInbox the option api',
  )
}
