import { messageOf } from '../../base/errors.ts'
import { readSecretFile } from '../../base/secret-file.ts'

export interface ReferenceSources {
  readonly env: NodeJS.ProcessEnv
  /** Makes a path absolute. */
  readonly at: (path: string) => string
}

export interface Resolved {
  /** The value with texts in the place of references. */
  readonly value: unknown
  /** The value with the names of what is referred to in their place: fit to be shown. */
  readonly shown: unknown
  /** `path: what is wrong`. */
  readonly problems: readonly string[]
}

/**
 * Puts texts where a value refers to one: `{ env: 'NAME' }` is that variable, `{ file: 'path' }` what that file holds, both
 * without white space around them. Never throws; nothing of what is referred to is in the problems.
 */
export async function resolveReferences(value: unknown, sources: ReferenceSources, path: string): Promise<Resolved> {
  const reference = toReference(value)
  if (reference !== undefined) return resolveOne(reference, sources, path)
  if (typeof value !== 'object' || value === null) return { value, shown: value, problems: [] }
  const entries = await Promise.all(
    Object.entries(value).map(
      async ([name, part]) => [name, await resolveReferences(part, sources, `${path}.${name}`)] as const,
    ),
  )
  const problems = entries.flatMap(([, part]) => part.problems)
  const isList = Array.isArray(value)
  const joined = (pick: (part: Resolved) => unknown) =>
    isList
      ? entries.map(([, part]) => pick(part))
      : Object.fromEntries(entries.map(([name, part]) => [name, pick(part)]))
  return { value: joined((part) => part.value), shown: joined((part) => part.shown), problems }
}

type Reference = { readonly env: string } | { readonly file: string }

function toReference(value: unknown): Reference | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const [[name, target] = [], second] = Object.entries(value)
  if (second !== undefined || typeof target !== 'string') return undefined
  if (name === 'env') return { env: target }
  return name === 'file' ? { file: target } : undefined
}

async function resolveOne(reference: Reference, { env, at }: ReferenceSources, path: string): Promise<Resolved> {
  if ('env' in reference) {
    const text = env[reference.env]?.trim()
    const shown = `$${reference.env}`
    if (text !== undefined && text !== '') return { value: text, shown, problems: [] }
    return { value: undefined, shown, problems: [`${path}: the environment variable ${reference.env} is not set`] }
  }
  const file = at(reference.file)
  try {
    return { value: await readSecretFile(file), shown: `file ${file}`, problems: [] }
  } catch (error) {
    return { value: undefined, shown: `file ${file}`, problems: [`${path}: ${messageOf(error)}`] }
  }
}
