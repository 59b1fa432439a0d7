import type * as OpenTelemetry from '@opentelemetry/api'
import type { Attributes, Span, SpanKind } from '@opentelemetry/api'
import { createRequire } from 'node:module'
import { messageOf } from './errors.ts'

/** OpenTelemetry spans. `traceparent` is the value of the W3C header. */
export interface Tracer {
  /** Starts the span of a delivery's receipt, as a child of the trace in the request, if any. */
  startReceipt(incoming: string | null): ReceiptSpan
  /** Runs an attempt in a span that is a child of the receipt's span. `run` gets the `traceparent` to pass on. */
  attempt<T>(info: AttemptInfo, run: (traceparent: string) => Promise<T>): Promise<T>
}

export interface ReceiptSpan {
  /** Stored with the event. */
  readonly traceparent: string
  end(info: ReceiptResult): void
}

export interface ReceiptResult {
  readonly status: number
  /** Result of the response: a word such as `accepted`, or an error code. */
  readonly result: string
  /** Undefined if unknown. */
  readonly eventId?: string | undefined
  readonly type?: string | undefined
}

export interface AttemptInfo {
  readonly handler: string
  readonly attempt: number
  readonly eventId: string
  readonly type: string
  /** `traceparent` of the receipt. */
  readonly traceparent: string | null
}

const name = 'onchain-inbox'
/** Global under which an OpenTelemetry SDK registers itself. Without an SDK, the API's 47 modules are not loaded. */
const registered = Symbol.for('opentelemetry.js.api.1')
const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Returns a valid W3C `traceparent` of version 00; else null. */
export function parseTraceparent(header: string | undefined): string | null {
  return header !== undefined && traceparentPattern.test(header) ? header : null
}

/**
 * Creates a tracer on the OpenTelemetry API; null unless an SDK was loaded first (`node --import ./otel.mjs`, which
 * loads it into each thread). Without an SDK tracing costs nothing.
 */
export function createTracer(): Tracer | null {
  if (!(registered in globalThis)) return null
  const api = createRequire(import.meta.url)('@opentelemetry/api') as typeof OpenTelemetry
  const { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api
  const tracer = trace.getTracer(name)
  // Without an SDK spans have no ids.
  const hasSdk = trace.isSpanContextValid(tracer.startSpan('probe', { root: true }).spanContext())
  if (!hasSdk) return null

  function contextOf(traceparent: string | null) {
    const [, traceId = '', spanId = '', flags = '00'] = (traceparent ?? '').split('-')
    if (traceId === '') return ROOT_CONTEXT
    const traceFlags = Number.parseInt(flags, 16)
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
  }
  function start(spanName: string, kind: SpanKind, parent: string | null, attributes: Attributes): Span {
    return tracer.startSpan(spanName, { kind, attributes }, contextOf(parent))
  }
  return {
    startReceipt(incoming) {
      const span = start('receive', SpanKind.SERVER, incoming, {
        'messaging.system': name,
        'messaging.operation.type': 'receive',
      })
      return {
        traceparent: traceparentOf(span),
        end({ status, result, eventId, type }) {
          span.setAttributes({ 'http.response.status_code': status, 'inbox.result': result })
          if (eventId !== undefined) span.setAttribute('messaging.message.id', eventId)
          if (type !== undefined) span.setAttribute('inbox.event.type', type)
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR, message: result })
          span.end()
        },
      }
    },
    async attempt({ handler, attempt, eventId, type, traceparent }, run) {
      const span = start(`process ${handler}`, SpanKind.CONSUMER, traceparent, {
        'messaging.system': name,
        'messaging.operation.type': 'process',
        'messaging.message.id': eventId,
        'inbox.event.type': type,
        'inbox.handler': handler,
        'inbox.attempt': attempt,
      })
      try {
        return await context.with(trace.setSpan(ROOT_CONTEXT, span), () => run(traceparentOf(span)))
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) })
        if (error instanceof Error) span.recordException(error)
        throw error
      } finally {
        span.end()
      }
    },
  }
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
