import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InboxError, messageOf } from '../base/errors.ts'
import { explainImport } from '../base/explain-import.ts'
import { parseDefinition } from './parse-definition.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/**
 * Loads every handler of a folder: files directly in it that end in .ts, .js or .mjs, except `_*`, `*.test.*` and
 * `*.d.ts`. Each is imported without a build. Returns `bundled` first. Skips files that are not `isSelected`. Throws
 * `handler_invalid` with path and reason of every unusable file, and `handler_duplicate` if two share a name.
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
    `two handlers have the name ${name}: ${same.file} and ${file}; give one of them another \`name\``,
  )
}

/** Returns the handler files of a folder. Throws `handler_invalid` if the folder can't be read. */
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
      `the handlers folder ${dir} cannot be read (${messageOf(error)}); create it, or set INBOX_HANDLERS to another folder`,
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
    throw new InboxError('handler_invalid', `${file} cannot be loaded: ${explainImport(error, file)}`, { cause: error })
  }
}
