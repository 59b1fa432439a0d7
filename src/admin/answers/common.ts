import { z } from 'zod'

// The answers of the admin API, as they are on the wire. Their descriptions are those of its OpenAPI document.

/** A moment, in ISO 8601 and UTC. */
export const time = z.iso.datetime().describe('a moment in ISO 8601, UTC, with milliseconds')
export const count = z.int().min(0)

/** A page of a list: `next_cursor` is null on the last one. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    data: z.array(item),
    next_cursor: z.string().nullable().describe('gives the next page as `cursor`; null on the last one'),
  })
}

export const errorAnswer = z.object({
  error: z.object({ code: z.string().describe('stable; docs/errors.md has all of them'), message: z.string() }),
})

export const runError = z.object({
  name: z.string().describe('the class of the error, or a code of ours'),
  message: z.string(),
  stack: z.string().nullable(),
})

/** A page of a list: `next_cursor` is null on the last one. */
export interface ListJson<T> {
  data: T[]
  next_cursor: string | null
}
