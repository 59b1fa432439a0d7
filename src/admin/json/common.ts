import type { ListJson } from '../answers/common.ts'
import type { Page, RunError } from '../../inbox/port.ts'

export function toListJson<T, U>(page: Page<T>, to: (item: T) => U): ListJson<U> {
  return { data: page.data.map(to), next_cursor: page.nextCursor }
}

export function toErrorJson({ name, message, stack }: RunError) {
  return { name, message, stack: stack ?? null }
}

export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** `ms`: milliseconds since 1970. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}
