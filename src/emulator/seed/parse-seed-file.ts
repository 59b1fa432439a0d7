import { readFileSync, statSync } from 'node:fs'
import { isMap, isNode, isScalar, LineCounter, parseDocument, type Document } from 'yaml'
import { InboxError, messageOf } from '../../base/errors.ts'
import { checkSeed } from './problems.ts'
import type { Seed } from './schema.ts'

const largestBytes = 1024 * 1024

/**
 * Reads a seed file (YAML).
 *
 * @throws InboxError `config_invalid` with every problem, its line and its path, and none of the values
 */
export function readSeedFile(file: string): Seed {
  return parseSeedFile(readText(file), file)
}

/** The same of a text. `file` is what error messages call it. */
export function parseSeedFile(text: string, file: string): Seed {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, message }) => {
    return `line ${lineCounter.linePos(pos[0]).line}: ${message}`
  })
  if (mistakes.length > 0) throw invalid(file, mistakes)

  const checked = checkSeed(toValue(document, file))
  if (checked.ok) return checked.seed
  const problems = checked.problems.map(({ path, text: problem }) => {
    const { line } = lineCounter.linePos(offsetOf(document, path))
    return { line, text: `line ${line}: ${problem}` }
  })
  throw invalid(
    file,
    problems.toSorted((a, b) => a.line - b.line).map((problem) => problem.text),
  )
}

function readText(file: string): string {
  try {
    const stats = statSync(file)
    // Reading a pipe or a device could wait, or go on, for ever.
    if (stats.isFile() && stats.size <= largestBytes) return readFileSync(file, 'utf8')
  } catch (error) {
    throw new InboxError('config_invalid', `${file} cannot be read: ${messageOf(error)}`, { cause: error })
  }
  throw new InboxError('config_invalid', `${file} is not a regular file of at most ${largestBytes} bytes`)
}

function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS() ?? {}
  } catch (error) {
    throw invalid(file, [messageOf(error)])
  }
}

function invalid(file: string, problems: readonly string[]): InboxError {
  return new InboxError('config_invalid', `${file} cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`)
}

/** Where a place begins: a member with its name; one that is missing, with what it is missing in. */
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
