import { checkHandlers } from '../dispatch/check-handlers.ts'
import type { HandlerSources } from '../dispatch/sources.ts'
import { InboxError } from '../errors.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

/** Loads the handlers as `serve` would, and runs none. */
export async function examineHandlers(sources: HandlerSources): Promise<Finding> {
  const { handlersDir } = sources
  try {
    const handlers = await checkHandlers(sources)
    if (handlers.length > 0) return ok('handlers', handlers.map(({ name }) => name).join(', '))
    const place = handlersDir === null ? '' : ` in ${handlersDir}`
    return warn(
      'handlers',
      `none${place}: events are stored, and nothing is done with them`,
      'onchain-inbox init shows one',
    )
  } catch (error) {
    if (!(error instanceof InboxError)) throw error
    return fail('handlers', error.message, 'mend it; `onchain-inbox check` lists what can be loaded')
  }
}
