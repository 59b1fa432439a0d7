import { InboxError } from '../../errors.ts'
import type { ViewPort } from '../../inbox/port.ts'
import type { ConcurrencyJson, DroppedRunsJson, PausedJson } from '../answers/handlers.ts'
import { dropHandlerBody, handlerBody, parseBody } from '../bodies.ts'

/** What can be done with handlers. `by`: who does it, for the audit. Throws `not_found` for one that never was. */
export interface HandlerActs {
  /** Of one handler, or with null of all together. */
  setPaused(handler: string | null, paused: boolean, by?: string): Promise<PausedJson>
  /** Takes `{"concurrency": 4}`, or null for what the handler says itself. */
  changeHandler(handler: string, body: unknown, by?: string): Promise<ConcurrencyJson>
  /** Takes a `reason`; ends the open runs of a handler. */
  dropRuns(handler: string, body: unknown, by?: string): Promise<DroppedRunsJson>
}

export interface HandlerActOptions {
  readonly inbox: Pick<ViewPort, 'setPaused' | 'setConcurrency' | 'dropOpenRuns' | 'stats'>
  /** Called when a handler is to run more or fewer at once. */
  readonly onConcurrency?: (handler: string, concurrency: number | null) => void
  /** Called when runs that were handed out are not to start any more, of one handler or, with null, of any. */
  readonly onRecall?: (handler: string | null) => void
}

export function createHandlerActs({ inbox, onConcurrency, onRecall }: HandlerActOptions): HandlerActs {
  async function noHandler(name: string): Promise<InboxError> {
    const names = (await inbox.stats()).handlers.map(({ handler }) => handler)
    const known = names.length === 0 ? 'none was ever loaded' : `expected one of ${names.join(', ')}`
    return new InboxError('not_found', `there is no handler ${JSON.stringify(name)}, and never was: ${known}`)
  }

  return {
    async setPaused(handler, paused, by) {
      if (!(await inbox.setPaused(handler, paused, by))) throw await noHandler(handler ?? '')
      if (paused) onRecall?.(handler)
      return { handler, paused }
    },
    async changeHandler(handler, body, by) {
      const { concurrency } = parseBody(handlerBody, body)
      if (!(await inbox.setConcurrency(handler, concurrency, by))) throw await noHandler(handler)
      onConcurrency?.(handler, concurrency)
      return { handler, concurrency }
    },
    async dropRuns(handler, body, by) {
      const { reason } = parseBody(dropHandlerBody, body)
      const dropped = await inbox.dropOpenRuns(handler, reason, by)
      if (dropped === null) throw await noHandler(handler)
      return { handler, dropped }
    },
  }
}
