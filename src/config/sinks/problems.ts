import type { z } from 'zod'
import { nearest } from '../nearest.ts'

/** What is wrong with an entry: `place: what was expected`. zod's own words do not quote values. */
export function problemsOf(error: z.ZodError, where: string, known: readonly string[] = []): string[] {
  return [...new Set(error.issues.flatMap((issue) => describe(issue, where, known)))]
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
