import type { z } from 'zod'
import type { Problem } from './error.ts'

/**
 * Members that differ from one of the schema in case only. Others that nobody documented are ignored (R125); these are a slip
 * of the pen, and to ignore a `Secret` would sign with another.
 */
export function misspeltMembers(schema: z.ZodObject, given: Readonly<Record<string, unknown>>): readonly Problem[] {
  const rightNames = new Map(Object.keys(schema.shape).map((name) => [name.toLowerCase(), name]))
  return Object.keys(given).flatMap((name) => {
    const right = rightNames.get(name.toLowerCase())
    if (right === undefined || right === name) return []
    return [{ path: name, message: `expected the name ${right}: names are case-sensitive` }]
  })
}
