import { resolve } from 'node:path'
import type { SinkDefinition, SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { appendLines, checkWritable } from './common/append-lines.ts'
import {
  bodyOf,
  filePath,
  longRetry,
  shownOption,
  type SinkKind,
  type SinkSetup,
  type SinkTools,
} from './common/kind.ts'

const units: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** Bytes as a number, or with a unit: `100mb`. A kb is 1,024 bytes. */
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

const options = z.strictObject({
  /** Relative to the folder of the configuration. */
  path: filePath,
  /** Before the file becomes longer, it is renamed. */
  maxBytes: byteSize.default(100 * 1024 ** 2),
  /** Number of renamed files to keep. Default: all. */
  keep: z.int().min(0).max(1_000_000).optional(),
  /** True: an event counts as sent once it is on disk. */
  fsync: z.boolean().default(true),
})

type Options = z.output<typeof options>

/**
 * Appends one JSON line per event: the exact bytes, with line breaks between tokens replaced by spaces. A batch is one
 * write. An incomplete last line of a crashed process is removed first.
 */
export default {
  options,
  target: ({ path }) => shownOption(path),
  example: "{ kind: 'file', path: './events.ndjson', maxBytes: '100mb', keep: 10 }",
  file: ({ path }) => path,
  create,
  check: ({ name, options: { path } }, { baseDir }) => checkWritable(resolve(baseDir, path), `sinks.${name}.path`),
} satisfies SinkKind<typeof options>

function create(
  { options }: SinkSetup<Options>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { maxBytes, keep, fsync } = options
  const path = resolve(baseDir, options.path)
  const lineOf = (item: SinkItem) => toLine(bodyOf(item))
  return {
    batch: 500,
    concurrency: 1,
    ...longRetry,
    async send(items, { signal, log }) {
      const onCut = (bytes: number) => log.warn({ path, bytes }, 'removed incomplete last line')
      await appendLines({ path, maxBytes, keep, fsync, onCut }, items.map(lineOf), signal)
    },
  }
}

const newline = 0x0a
const carriageReturn = 0x0d
const space = 0x20

/** JSON on one line. JSON has line breaks only between tokens, so each becomes a space. */
function toLine(json: Uint8Array): Buffer {
  const line = Buffer.allocUnsafe(json.length + 1)
  line.set(json)
  for (let at = 0; at < json.length; at++) if (line[at] === newline || line[at] === carriageReturn) line[at] = space
  line[json.length] = newline
  return line
}
