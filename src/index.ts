export { defineHandler } from './dispatch/define.ts'
export type {
  EventPattern,
  EventSelector,
  HandlerContext,
  HandlerDefinition,
  HandlerEvent,
  RetryOptions,
} from './dispatch/define.ts'
export { InboxError, RetryableError, TerminalError, type ErrorCode } from './errors.ts'
export type { AnyEvent, EventOf, EventType, KnownEvent, UnknownEvent } from '../schema/index.ts'
