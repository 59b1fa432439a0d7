import { checkHandlers } from '../dispatch/check-handlers.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import type { HandlerSources } from '../dispatch/sources.ts'
import { InboxError } from '../errors.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

export interface ExaminedHandlers {
  readonly finding: Finding
  /** Null: they cannot be loaded. */
  readonly handlers: readonly HandlerInfo[] | null
}

/** Loads the handlers as `serve` would, and runs none. */
export async function examineHandlers(sources: HandlerSources): Promise<ExaminedHandlers> {
  const { handlersDir } = sources
  try {
    const handlers = await checkHandlers(sources)
    if (handlers.length > 0) return { finding: ok('handlers', handlers.map(({ name }) => name).join(', ')), handlers }
    const place = handlersDir === null ? '' : ` in ${handlersDir}`
    const found = `none${place}: events are stored, and nothing is done with them`
    return { finding: warn('handlers', found, 'onchain-inbox init shows one'), handlers }
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    const advice = 'mend it; `onchain-inbox check` lists what can be loaded'
    return { finding: fail('handlers', error.message, advice), handlers: null }
  }
}
