import type { z } from 'zod'
import type { Example } from '../../../handlers/sinks/common/kind.ts'
import { nearest } from '../nearest.ts'

type Examples = Readonly<Record<string, Example>>

/** What is wrong with an entry: `place: what was expected`. zod's own words do not quote values. */
export function problemsOf(
  error: z.ZodError,
  where: string,
  { known = [], examples = {} }: { readonly known?: readonly string[]; readonly examples?: Examples } = {},
): string[] {
  const lines = error.issues.flatMap((issue) => {
    const [option, ...deeper] = issue.path
    const name = String(option)
    const found = Object.hasOwn(examples, name) ? examples[name] : undefined
    if (found === undefined || issue.code === 'unrecognized_keys' || issue.code === 'invalid_key')
      return describe(issue, where, known)
    const [what, example] = found
    const told =
      deeper.length === 0 && isRaw(issue)
        ? [`${where}.${String(option)}: expected ${what}`]
        : describe(issue, where, known)
    const missing = deeper.length === 0 && isMissing(issue) ? ', it is missing' : ''
    return told.map((line) => `${line}${missing}; for example ${String(option)}: ${example}`)
  })
  return [...new Set(lines)]
}

/** Whether there is nothing to say of it but zod's own words. */
function isRaw({ code, message }: z.core.$ZodIssue): boolean {
  return code !== 'too_small' && code !== 'too_big' && /^(?:Invalid |that is no )/.test(message)
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.message.endsWith('received undefined') || ('input' in issue && issue.input === undefined)
}

function describe(issue: z.core.$ZodIssue, where: string, known: readonly string[]): string[] {
  const place = [where, ...issue.path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const isTop = issue.path.length === 0 && known.length > 0
      return `${place}: unknown option \`${key}\`${isTop ? `${nearest(key, known)}; known are ${known.join(', ')}` : ''}`
    })
  }
  // The issues of a key are about the key itself.
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${place}: ${message}`)
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const all = issue.errors.flat().map(({ message }) => message)
    const hints = all.filter((message) => !/^(?:Invalid|Too) /.test(message))
    const told = hints.length > 0 ? hints : all
    return [`${place}: ${[...new Set(told)].join(', or ')}`]
  }
  return [`${place}: ${issue.message}`]
}
