import { z } from 'zod'
import { filePath } from '../values.ts'

const withoutNul = z.string().refine((value) => !value.includes('\0'), { error: 'expected text without NUL' })
const variable = z.string().regex(/^[A-Za-z_]\w*$/, { error: 'expected the name of an environment variable' })

/** A command is run for each event, which it gets on its standard input. */
export const execOptions = z.strictObject({
  /** Program and arguments. No shell reads them. */
  command: z.array(withoutNul).min(1),
  /** Relative ones start at the folder of the configuration, which is also the default. */
  cwd: filePath.optional(),
  /** What the command finds in its environment beside PATH, HOME and what tells of the event. */
  env: z.record(variable, withoutNul).default({}),
  /** Of these exit codes: no further attempts, dead letter. All others but 0 mean that it is tried again. */
  terminalExitCodes: z
    .array(
      z
        .int()
        .min(1)
        .max(255)
        .refine((code) => code !== 75, { error: '75 means that trying again can help' }),
    )
    .default([]),
})

export type ExecOptions = z.output<typeof execOptions>
