import type { Logger } from '../base/log.ts'
import type { PageOf, Pages } from './api.ts'
import { ApiProtocolError } from './errors.ts'

export interface PagesOptions<Item> {
  /** What is listed, for messages. */
  readonly name: string
  /** Where to begin; undefined: at the first page. */
  readonly cursor: string | undefined
  readonly fetchPage: (cursor: string | undefined) => Promise<PageOf<Item>>
  readonly log: Logger
}

/**
 * A list by its pages: each `next_cursor` leads to the next, a page without one is the last (R120). A page may be empty and not
 * be the last. A cursor that comes again would lead round for ever: that is an ApiProtocolError `cursor_repeated`.
 */
export function toPages<Item>({ name, cursor: first, fetchPage, log }: PagesOptions<Item>): Pages<Item> {
  async function* pages(): AsyncGenerator<PageOf<Item>, void> {
    const seen = new Set<string>()
    let [cursor, received, announced] = [first, 0, 0]
    for (;;) {
      if (cursor !== undefined) seen.add(cursor)
      const page = await fetchPage(cursor)
      yield page
      received += page.data.length
      if (cursor === first) announced = page.meta.total ?? 0
      cursor = nextCursor(name, page)
      if (cursor === undefined) break
      if (seen.has(cursor))
        throw unusable(name, page, 'cursor_repeated', 'its next_cursor leads back to an earlier page')
    }
    // What is there at the first page is on one of the pages (R122).
    if (first === undefined && received < announced)
      log.warn({ list: name, received, announced }, 'the list ended early')
  }

  return {
    page: () => fetchPage(first),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data
    },
  }
}

function nextCursor(name: string, page: PageOf<unknown>): string | undefined {
  const cursor: unknown = page.meta.next_cursor
  if (cursor === undefined || cursor === null || cursor === '') return undefined
  if (typeof cursor === 'string') return cursor
  throw unusable(name, page, 'answer_invalid', `its next_cursor is no text but a ${typeof cursor}`)
}

function unusable(
  name: string,
  { status, requestId, body }: PageOf<unknown>,
  code: string,
  problem: string,
): ApiProtocolError {
  return new ApiProtocolError(`${name}: a page came, but ${problem}: the list cannot be read to its end`, {
    code,
    status,
    requestId,
    body,
    isRetryable: true,
  })
}
