import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InboxError, messageOf } from '../base/errors.ts'
import { parseDefinition } from './parse-definition.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/**
 * Loads every handler of a folder: files directly in it that end in .ts, .js or .mjs, other than `_*`, `*.test.*` and `*.d.ts`.
 * Each is imported as it is, without a build. Throws `handler_invalid` for files that cannot be used, with the path and the
 * reason of each, and `handler_duplicate` if two have the same name. They come behind `bundled`.
 * Files that are not `isSelected` are left out.
 */
export async function loadHandlers(
  dir: string,
  bundled: readonly ResolvedHandler[] = [],
  isSelected: (file: string) => boolean = () => true,
): Promise<readonly ResolvedHandler[]> {
  const handlers = [...bundled]
  const problems: InboxError[] = []
  for (const file of await findHandlerFiles(dir)) {
    if (!isSelected(file)) continue
    try {
      const handler = parseDefinition(await importDefault(file), file, parse(file).name)
      refuseSameName(handlers, handler)
      handlers.push(handler)
    } catch (error) {
      if (!(error instanceof InboxError)) throw error
      problems.push(error)
    }
  }
  const [first, ...others] = problems
  if (first === undefined) return Object.freeze(handlers)
  if (others.length === 0) throw first
  throw new InboxError('handler_invalid', problems.map(({ message }) => message).join('\n'), { cause: first })
}

type Named = Pick<ResolvedHandler, 'name' | 'file'>

/** Throws `handler_duplicate` if one of `handlers` has the same name. */
export function refuseSameName(handlers: readonly Named[], { name, file }: Named): void {
  const same = handlers.find((known) => known.name === name)
  if (same === undefined) return
  throw new InboxError(
    'handler_duplicate',
    `two handlers are called ${name}: ${same.file} and ${file}; give one of them another \`name\``,
  )
}

/** The files of a folder that hold handlers. Throws `handler_invalid` if it cannot be read. */
export async function findHandlerFiles(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries
      .filter((entry) => !entry.isDirectory() && isHandlerName(entry.name))
      .map((entry) => join(dir, entry.name))
      .toSorted()
  } catch (error) {
    throw new InboxError(
      'handler_invalid',
      `the handlers folder ${dir} cannot be read (${messageOf(error)}); make it, or name another one in INBOX_HANDLERS`,
      { cause: error },
    )
  }
}

function isHandlerName(name: string): boolean {
  return /\.(?:ts|js|mjs)$/.test(name) && !name.startsWith('_') && !/\.(?:test|spec)\.|\.d\.ts$/.test(name)
}

async function importDefault(file: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
    return module.default
  } catch (error) {
    throw new InboxError('handler_invalid', `${file} cannot be loaded: ${explainImport(error)}`, { cause: error })
  }
}

function explainImport(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const message = messageOf(error)
  switch (code) {
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
      return `it uses TypeScript that cannot simply be erased (enum, namespace, parameter property, import =), and handlers run without a build; write it in plain JavaScript terms, or compile it first${lineOf(error)}: ${message}`
    case 'ERR_INVALID_TYPESCRIPT_SYNTAX':
      return `it is not valid TypeScript${lineOf(error)}: ${message}`
    case 'ERR_MODULE_NOT_FOUND':
      return `${message} (packages are looked for from the handler's own folder; relative imports need their extension)`
    default:
      return error instanceof Error && error.stack !== undefined ? withoutNode(error.stack) : message
  }
}

/** Where TypeScript cannot be read: Node begins the stack with file and line. */
function lineOf(error: unknown): string {
  const [, line] = (error instanceof Error && /^.*:(\d+)\n/.exec(error.stack ?? '')) || []
  return line === undefined ? '' : ` (line ${line})`
}

/** A stack without Node's own frames: what is left points into files of the user. */
function withoutNode(stack: string): string {
  const lines = stack.split('\n')
  return lines.filter((line) => !/^\s+at .*\bnode:/.test(line)).join('\n')
}
