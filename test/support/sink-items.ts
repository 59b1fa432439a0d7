import type { SinkContext, SinkDefinition, SinkItem } from '../../src/index.ts'
import { toHandlerEvent } from '../../src/dispatch/context.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { eventBytes, type EventParts } from './signed.ts'

/** Default source: `default`. */
type ItemChanges = Partial<SinkItem> & { readonly source?: string }

/** An item as a sink gets it: an event, given as bytes or by its parts, or with `payload` what a handler enqueued. */
export function anItem(event: Uint8Array | EventParts, { source, ...changes }: ItemChanges = {}): SinkItem {
  const raw = event instanceof Uint8Array ? event : eventBytes(event)
  const { id, type } = JSON.parse(Buffer.from(raw).toString()) as { readonly id: string; readonly type: string }
  const read = toHandlerEvent({
    seq: 1,
    id: source === undefined ? id : `${source}/${id}`,
    type,
    createdAt: '',
    receivedAt: 0,
    key: '',
    secretLabel: source === undefined ? 'main' : `${source}/main`,
    raw,
  })
  return {
    id: '7',
    key: 'ethereum:0x1',
    payload: undefined,
    event: read,
    secretLabel: 'main',
    attempt: 1,
    idempotencyKey: `sink:${read.uid}`,
    traceparent: null,
    ...changes,
  }
}

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly [member: string]: unknown
}

/** The context of a sink; `lines` collects its log. */
export function aSinkContext(parts: Partial<SinkContext> = {}): SinkContext & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const collect = (level: string) => (values: object, message: string) => void lines.push({ ...values, level, message })
  const log = {
    ...silentLogger,
    debug: collect('debug'),
    warn: collect('warn'),
    error: collect('error'),
  } as Logger
  return { signal: new AbortController().signal, log, pause: () => {}, ...parts, lines } as ReturnType<
    typeof aSinkContext
  >
}

/** A sink that the end of a test closes, as the end of its thread would: `await using sink = underTest(create(…))`. */
export function underTest(sink: Readonly<SinkDefinition>) {
  return {
    send: async (items: readonly SinkItem[], ctx: SinkContext = aSinkContext()) => sink.send(items, ctx),
    [Symbol.asyncDispose]: async () => sink.close?.(),
  }
}
