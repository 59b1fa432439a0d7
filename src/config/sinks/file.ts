import { z } from 'zod'
import { byteSize, filePath } from '../values.ts'

/** Events go to a file, one to a line. */
export const fileOptions = z.strictObject({
  /** Relative ones start at the folder of the configuration. */
  path: filePath,
  /** A file that would become longer is put aside first. */
  maxBytes: byteSize(2 ** 50).default(100 * 1024 ** 2),
  /** How many files that were put aside are kept. Default: all. */
  keep: z.int().min(0).max(1_000_000).optional(),
  /** Whether an event counts as written only once the disk has it. */
  fsync: z.boolean().default(true),
  /** `envelope`: the event and nothing else. `with-receipt`: what the inbox knows of it, with the event in it. */
  format: z.enum(['envelope', 'with-receipt']).default('envelope'),
})

export type FileOptions = z.output<typeof fileOptions>
