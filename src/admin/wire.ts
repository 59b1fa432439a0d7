import { z } from 'zod'
import type { Page } from '../inbox/port.ts'

// Shared parts of the answers of the admin API. Descriptions go into its OpenAPI document.

/** The schemas of the OpenAPI document by name. */
export const components = z.registry<{ id: string }>()

/** A moment, in ISO 8601 and UTC. */
export const time = z.iso.datetime().describe('a time in ISO 8601, UTC, with milliseconds')
export const count = z.int().min(0)

/** An object schema of the OpenAPI document. */
export function component<S extends z.ZodRawShape>(id: string, shape: S) {
  return z.object(shape).register(components, { id })
}

/** Members of a page of a list. */
export const pageShape = <T extends z.ZodType>(item: T) => ({
  data: z.array(item),
  next_cursor: z.string().nullable().describe('pass it as `cursor` to get the next page; null on the last page'),
})
export const listOf = <T extends z.ZodType>(id: string, item: T) => component(id, pageShape(item))

export interface ListJson<T> {
  data: T[]
  next_cursor: string | null
}

// The answer of every error; openapi.ts refers to it by name.
component('Error', {
  error: z.object({ code: z.string().describe('stable; docs/errors.md lists all codes'), message: z.string() }),
})

export const runError = component('RunError', {
  name: z.string().describe('the class of the error, or a code of the inbox'),
  message: z.string(),
  stack: z.string().nullable(),
})

type SnakeKey<S extends string> = S extends `${infer First}${infer Rest}`
  ? Rest extends Uncapitalize<Rest>
    ? `${Uncapitalize<First>}${SnakeKey<Rest>}`
    : `${Uncapitalize<First>}_${SnakeKey<Rest>}`
  : S

type TimeKey = `${string}At` | 'at' | 'since' | 'from' | 'to' | 'until' | 'retriedUntil' | 'searchedTo'
type TimeJson<T> = T extends number ? string : Wire<T>

/** An answer as JSON: keys in snake_case, times in ISO 8601. */
export type Wire<T> = T extends readonly (infer Item)[]
  ? Wire<Item>[]
  : T extends object
    ? { -readonly [K in keyof T & string as SnakeKey<K>]: K extends TimeKey ? TimeJson<T[K]> : Wire<T[K]> }
    : T

const timeKey = /At$|^(?:at|since|from|to|until|retriedUntil|searchedTo)$/

/** Renames keys to snake_case and writes times (milliseconds since 1970) in ISO 8601, at every depth. */
export function toWire<T>(value: T): Wire<T> {
  if (Array.isArray(value)) return value.map(toWire) as Wire<T>
  if (typeof value !== 'object' || value === null) return value as Wire<T>
  const entries = Object.entries(value).map(([key, field]: [string, unknown]) => [
    key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    typeof field === 'number' && timeKey.test(key) ? isoTime(field) : toWire(field),
  ])
  return Object.fromEntries(entries) as Wire<T>
}

/**
 * The fields of a schema, from an object with their names in camelCase, such as `isLoaded` for `loaded`; absent ones are null. The test of
 * the admin document checks each response against its schema.
 */
export function toFields<S extends z.ZodRawShape>(schema: z.ZodObject<S>, value: object): z.output<z.ZodObject<S>> {
  const members = value as Readonly<Record<string, unknown>>
  const fields = Object.keys(schema.shape).map((field) => {
    const name = field.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    return [name, members[name] ?? members[`is${name[0]?.toUpperCase()}${name.slice(1)}`] ?? null] as const
  })
  return toWire(Object.fromEntries(fields)) as z.output<z.ZodObject<S>>
}

export function toPage<T, U>(page: Page<T>, toJson: (item: T) => U): ListJson<U> {
  return { data: page.data.map(toJson), next_cursor: page.nextCursor }
}

export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** `ms`: milliseconds since 1970. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function isoTimeOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : isoTime(ms)
}
