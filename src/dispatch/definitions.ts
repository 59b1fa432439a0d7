import { InboxError } from '../base/errors.ts'
import type { EventSelector, HandlerContext, HandlerDefinition } from './define.ts'
import type { SinkContext, SinkDefinition } from './define-sink.ts'
import { parseDefinition } from './parse-definition.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** What `defineHandler` or `defineSink` gives, for whatever events. It needs a `name`: there is no file that could lend it one. */
export type Definition = AnyHandler | AnySink

// `never` lets functions in that take events of certain types only.
type AnyHandler = Omit<HandlerDefinition<EventSelector>, 'run' | 'match'> & {
  run(event: never, ctx: HandlerContext): void | Promise<void>
  match?(event: never): boolean
}
type AnySink = Omit<SinkDefinition<EventSelector>, 'send'> & {
  send(items: never, ctx: SinkContext): void | Promise<void>
}

export interface Definitions {
  readonly handlers: readonly ResolvedHandler[]
  /** One line for each that cannot be used; then `handlers` lacks it. */
  readonly problems: readonly string[]
}

/** Checks handlers and sinks that are given in code. */
export function parseDefinitions(definitions: unknown): Definitions {
  if (!Array.isArray(definitions)) {
    return { handlers: [], problems: ['handlers: expected a list of what defineHandler and defineSink give'] }
  }
  const handlers: ResolvedHandler[] = []
  const problems: string[] = []
  for (const [index, definition] of definitions.entries()) {
    const where = `handlers[${index}]`
    const problem = nameProblem(definition, handlers)
    if (problem !== undefined) problems.push(`${where}: ${problem}`)
    else {
      try {
        handlers.push(parseDefinition(definition, where, ''))
      } catch (error) {
        if (!(error instanceof InboxError)) throw error
        problems.push(error.message)
      }
    }
  }
  return { handlers, problems }
}

function nameProblem(definition: unknown, before: readonly ResolvedHandler[]): string | undefined {
  if (typeof definition !== 'object' || definition === null) return 'expected what defineHandler or defineSink gives'
  const name = 'name' in definition ? definition.name : undefined
  if (name === undefined) return 'expected a `name`: the runs of a handler belong to it'
  const same = before.find((handler) => handler.name === name)
  return same && `${same.file} is called ${same.name} as well; give one of them another \`name\``
}
