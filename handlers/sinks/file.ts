import { resolve } from 'node:path'
import type { SinkContext, SinkDefinition, SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { createAppendFile, checkPlace } from './common/append-file.ts'
import { bodyOf, filePath, patience, place, type SinkKind, type SinkSetup, type SinkTools } from './common/kind.ts'

const units: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** Bytes as a number, or with a unit of 1,024s: `100mb`. */
const byteSize = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,15}\s*(?:b|kb|mb|gb|tb)?$/i)
      .transform((text) => Number.parseInt(text) * (units[text.replace(/^\d+\s*/, '').toLowerCase()] ?? 1)),
  ])
  .pipe(
    z
      .int()
      .min(1)
      .max(2 ** 50),
  )

/** Events go to a file, one to a line. */
const options = z.strictObject({
  /** Relative ones start at the folder of the configuration. */
  path: filePath,
  /** A file that would become longer is put aside first. */
  maxBytes: byteSize.default(100 * 1024 ** 2),
  /** How many files that were put aside are kept. Default: all. */
  keep: z.int().min(0).max(1_000_000).optional(),
  /** Whether an event counts as written only once the disk has it. */
  fsync: z.boolean().default(true),
  /** `envelope`: the event and nothing else. `with-receipt`: what the inbox knows of it, with the event in it. */
  format: z.enum(['envelope', 'with-receipt']).default('envelope'),
})

type Options = z.output<typeof options>

export default {
  options,
  target: ({ path }) => place(path),
  examples: {
    path: ['the path of a file', "'./events.ndjson'"],
    maxBytes: ['a size in bytes, or with its unit', "'100mb'"],
    keep: ['a whole number', '10'],
  },
  file: ({ path }) => path,
  create,
  check: ({ name, options: { path } }, { baseDir }) => checkPlace(resolve(baseDir, path), `sinks.${name}.path`),
} satisfies SinkKind<typeof options>

/**
 * Appends events to a file, one to a line: the bytes as they came, line breaks between tokens made spaces; and what handlers enqueue
 * for it, as JSON. A batch is one write, and counts as sent once the disk has it. Part of a line that a crash left at the end is cut
 * off before more is added.
 */
function create(
  { options }: SinkSetup<Options>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { maxBytes, keep, fsync, format } = options
  const path = resolve(baseDir, options.path)
  let log: SinkContext['log'] | undefined
  const file = createAppendFile({
    path,
    maxBytes,
    keep,
    fsync,
    onCut: (bytes) => log?.warn({ path, bytes }, 'cut off part of a line that a crash left at the end of the file'),
  })
  const lineOf = (item: SinkItem) => toLine(format === 'with-receipt' ? withReceipt(item) : bodyOf(item))

  return {
    batch: 500,
    concurrency: 1,
    ...patience,
    async send(items, ctx) {
      log = ctx.log
      await file.append(items.map(lineOf), ctx.signal)
    },
    close: () => file.close(),
  }
}

const newline = 0x0a
const carriageReturn = 0x0d
const space = 0x20

/**
 * JSON text on one line, with its newline. Line breaks stand only between the tokens of JSON, never in a string, so each becomes a
 * space; every other byte stays as it came.
 */
function toLine(json: Uint8Array): Buffer {
  const line = Buffer.allocUnsafe(json.length + 1)
  line.set(json)
  for (let at = 0; at < json.length; at++) if (line[at] === newline || line[at] === carriageReturn) line[at] = space
  line[json.length] = newline
  return line
}

/** What the inbox knows of an item, with the item in it: the event, or what a handler enqueued. */
function withReceipt(item: SinkItem): Uint8Array {
  const { id, key, secretLabel, attempt, idempotencyKey, event } = item
  const receipt = JSON.stringify({
    item_id: id,
    event_id: event.id,
    key,
    secret_label: secretLabel,
    attempt,
    idempotency_key: idempotencyKey,
  })
  const member = item.payload === undefined ? 'event' : 'payload'
  return Buffer.concat([Buffer.from(`${receipt.slice(0, -1)},"${member}":`), bodyOf(item), Buffer.from('}')])
}
