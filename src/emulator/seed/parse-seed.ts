import { demoCredentials } from '../../base/demo-credentials.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { expectedBy } from '../rest/error.ts'
import { type Seed, type SeedInput, seedSchema } from './schema.ts'
import { readFileSync, statSync } from 'node:fs'
import { type Document, LineCounter, isMap, isNode, isScalar, parseDocument } from 'yaml'
import type { z } from 'zod'

/**
 * Checks a seed.
 *
 * @throws InboxError `config_invalid` with every problem and its path, and none of the values
 */
export function parseSeed(input: SeedInput): Seed {
  const { data: seed, error } = seedSchema.safeParse(input)
  if (error === undefined) return seed
  throw invalid(
    'the seed',
    problemsOf(error).map(({ text }) => text),
  )
}

/** With this many alerts one fires about every hour. */
const priceAlerts = 28

/** The seed whose credentials are published. */
export const demoSeedName = 'demo'

/**
 * The seed for a bare name: one account with a key for all scopes. Credentials of `demo` are published; all others are
 * generated.
 *
 * @throws InboxError `config_invalid` if the name is empty or longer than 200 characters
 */
export function builtInSeed(seed: string): Seed {
  const isDemo = seed === demoSeedName
  const key = { name: 'first', scopes: 'all' as const, ...(isDemo && { key: demoCredentials.apiKey }) }
  const account = { name: isDemo ? 'demo' : 'default', plan: 'pro' as const, keys: [key], priceAlerts }
  return parseSeed({
    world: { seed },
    accounts: [{ ...account, ...(isDemo && { alertSecret: demoCredentials.secret }) }],
    ...(isDemo && {
      controlToken: demoCredentials.controlToken,
      dashboard: { user: 'demo', password: demoCredentials.dashboardPassword },
    }),
  })
}

const maxBytes = 1024 * 1024

/**
 * Reads a seed file (YAML).
 *
 * @throws InboxError `config_invalid` with every problem, its line and its path, and none of the values
 */
export function readSeedFile(file: string): Seed {
  return parseSeedFile(readText(file), file)
}

/** Parses the text of a seed file. Error messages name it `file`. */
export function parseSeedFile(text: string, file: string): Seed {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, message }) => {
    return `line ${lineCounter.linePos(pos[0]).line}: ${message}`
  })
  if (mistakes.length > 0) throw invalid(file, mistakes)

  const { data: seed, error } = seedSchema.safeParse(toValue(document, file))
  if (error === undefined) return seed
  const lines = problemsOf(error)
    .map(({ path, text: problem }) => ({ line: lineCounter.linePos(offsetOf(document, path)).line, problem }))
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, problem }) => `line ${line}: ${problem}`)
  throw invalid(file, lines)
}

function readText(file: string): string {
  try {
    const stats = statSync(file)
    // A pipe or device might never return EOF.
    if (stats.isFile() && stats.size <= maxBytes) return readFileSync(file, 'utf8')
  } catch (error) {
    throw new InboxError('config_invalid', `cannot read ${file}: ${messageOf(error)}`, { cause: error })
  }
  throw new InboxError('config_invalid', `${file} must be a regular file of at most ${maxBytes} bytes`)
}

function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {}
  } catch (error) {
    throw invalid(file, [messageOf(error)])
  }
}

function invalid(file: string, problems: readonly string[]): InboxError {
  return new InboxError('config_invalid', `${file} has errors:\n${problems.map((line) => `  ${line}`).join('\n')}`)
}

/** Offset of a path in the file: of the member's name, or of the parent if the member is missing. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true)
    const name = path[length - 1]
    const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === name) : undefined
    const node = pair === undefined ? document.getIn(path.slice(0, length), true) : pair.key
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}

/** Lists the problems of a seed (A34) without its values. A path consists of member names and list positions. */
function problemsOf({ issues }: z.ZodError) {
  return issues.flatMap((issue) => {
    const isUnknown = issue.code === 'unrecognized_keys'
    const paths = isUnknown ? issue.keys.map((name) => [...issue.path, name]) : [issue.path]
    const message = isUnknown ? 'unknown setting; check the spelling' : expectedBy(issue)
    return paths.map((path) => ({ path, text: `${path.map(String).join('.') || 'seed'}: ${message}` }))
  })
}
