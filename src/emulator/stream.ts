import type { Stream as StreamOf } from '../base/http/sse.ts'

/** What goes by the stream: events as they arise, attempts of deliveries, changes of the clock. */
export const streamKinds = ['event', 'attempt', 'clock'] as const
export type StreamKind = (typeof streamKinds)[number]

export type Stream = StreamOf<StreamKind>
