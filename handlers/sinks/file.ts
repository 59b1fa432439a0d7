import { defineSink, type SinkContext, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { resolve } from 'node:path'
import type { FileOptions } from '../../src/config/sinks/file.ts'
import type { SinkSetup, SinkTools } from '../../src/dispatch/bundled-sinks.ts'
import { createAppendFile } from './common/append-file.ts'
import { bodyOf } from './common/body.ts'
import { toLine, withReceipt } from './common/lines.ts'
import { checkPlace } from './common/place.ts'

/**
 * Appends events to a file, one to a line: the bytes as they came, line breaks between tokens made spaces; and what handlers enqueue
 * for it, as JSON. A batch is one write, and counts as sent once the disk has it. Part of a line that a crash left at the end is cut
 * off before more is added.
 */
export default function createFile(
  { name, options }: SinkSetup<FileOptions>,
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

  return defineSink({
    name,
    batch: 500,
    concurrency: 1,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send(items, ctx) {
      log = ctx.log
      await file.append(items.map(lineOf), ctx.signal)
    },
    close: () => file.close(),
  })
}

/** Whether the file can be made. */
export function check(
  { name, options }: SinkSetup<FileOptions>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Promise<void> {
  return checkPlace(resolve(baseDir, options.path), `sinks.${name}.path`)
}
