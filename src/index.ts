export { defineHandler } from './dispatch/define.ts'
export type {
  EventPattern,
  EventSelector,
  HandlerContext,
  HandlerDefinition,
  HandlerEvent,
  RetryOptions,
  SourceSelector,
} from './dispatch/define.ts'
export { defineSink, type SinkContext, type SinkDefinition, type SinkItem } from './dispatch/define-sink.ts'
export type { EnqueueOptions } from './dispatch/outbox.ts'
export type { HandlerState, ListStateOptions, SetStateOptions } from './dispatch/run-state.ts'
export { InboxError, RetryableError, TerminalError, type ErrorCode } from './base/errors.ts'
export type { AnyEvent, EventOf, EventType, KnownEvent, ProviderName, UnknownEvent } from '../schema/index.ts'
export { createInbox, type EmbeddedInbox } from './app/library/create-inbox.ts'
export type { EmbeddedInboxOptions } from './app/library/options.ts'
export type { InboxEvents, DeliveryReport, RunReport } from './app/library/events.ts'
export type { Definition } from './dispatch/parse-definition.ts'
export type { InboxRouter } from './app/library/create-inbox.ts'
export type { DeliveryRequest, DeliveryResponse } from './receiver/receive-bytes.ts'
export type { Clock } from './base/clock.ts'
export type { Logger } from './base/log.ts'
