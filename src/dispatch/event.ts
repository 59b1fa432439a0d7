import type { AnyEvent } from '../../schema/index.ts'
import type { StoredEvent } from '../inbox/port.ts'
import type { HandlerEvent } from './define.ts'
import { createExactReader } from '../base/exact.ts'

/**
 * The event as a handler sees it: the parsed envelope with `raw` and `exact` beside it. Those two are not enumerable, so that
 * logging or serialising the event shows what was sent and nothing else. Each run gets an object of its own.
 */
export function toHandlerEvent(stored: StoredEvent): HandlerEvent<'*'> {
  const { raw } = stored
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString()
  const event = JSON.parse(text) as AnyEvent
  let exact: ((path: string) => string | undefined) | undefined
  Object.defineProperties(event, {
    // Said, because an event may come with members of these names.
    raw: { enumerable: false, value: raw },
    exact: { enumerable: false, value: (path: string) => (exact ??= createExactReader(text))(path) },
  })
  return event as HandlerEvent<'*'>
}
