import type { HandlerRoute } from '../inbox/port.ts'
import type { RunContext } from './context.ts'
import type { HandlerDefinition, HandlerEvent, RetryOptions, RetryPolicy } from './define.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'

/** A valid handler with its defaults, or a sink in the same form. */
export interface ResolvedHandler
  extends
    Required<Omit<HandlerRoute, 'sources' | 'keyPaths'>>,
    Pick<HandlerRoute, 'sources' | 'keyPaths'>,
    Required<Pick<HandlerDefinition<'*'>, 'concurrency' | 'priority' | 'timeoutMs' | 'isolate'>> {
  readonly kind: 'handler' | 'sink'
  /** Provider of all its sources; absent: any. */
  readonly provider?: string | undefined
  /** Maximum number of items per `send`; 1 for a handler. */
  readonly batch: number
  readonly rate?: number | undefined
  readonly retry: Readonly<Required<RetryOptions>> | RetryPolicy
  readonly maxAgeMs?: number | undefined
  readonly match?: ((event: HandlerEvent<'*'>) => boolean) | undefined
  readonly run: (ctx: RunContext) => void | Promise<void>
  /** Called when an operator changes the concurrency. */
  readonly onConcurrency?: ((concurrency: number) => void) | undefined
  /** For sinks: decides whether items may be sent now. */
  readonly breaker?: CircuitBreaker | undefined
  /** For sinks: called after the last send. */
  readonly close?: (() => void | Promise<void>) | undefined
  /** File of the definition, or a description of its place. */
  readonly file: string
}

/** The part of a handler that the store needs. */
export function toRoute(handler: Pick<ResolvedHandler, keyof HandlerRoute>): HandlerRoute {
  const { name, types, sources, order, keyPaths, latestOnly, onDead, from } = handler
  return { name, types, order, latestOnly, onDead, from, ...(keyPaths && { keyPaths }), ...(sources && { sources }) }
}

/** Closes sinks, for `limitMs` at most. Never throws: connections that stay open end with the process. */
export async function closeSinks(
  handlers: readonly Pick<ResolvedHandler, 'name' | 'close'>[],
  { clock, log, limitMs }: { readonly clock: Clock; readonly log: Logger; readonly limitMs: number },
): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = clock.after(limitMs, late.resolve)
  const closed = handlers.map(async ({ name, close }) => {
    try {
      await close?.()
    } catch (error) {
      log.warn({ handler: name, error: messageOf(error) }, 'closing a sink failed')
    }
  })
  await Promise.race([Promise.all(closed), late.promise])
  timer.cancel()
}
