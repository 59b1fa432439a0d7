import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A block of code on a page of the docs. */
export interface Snippet {
  /** Path from the root of the repository. */
  readonly page: string
  /** Line number of its first line of code; the first line of the page is 1. */
  readonly line: number
  /** Language named after the fence: `ts`, `sh` … */
  readonly language: string
  readonly code: string
}

const root = join(import.meta.dirname, '../..')

/** Handwritten pages; docs/api is generated. */
export const pages: readonly string[] = [
  'README.md',
  ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/api'] }).toSorted(),
]

export function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

/** The code blocks of a page, also in lists. Throws if one is not closed. */
export function snippetsOf(page: string, text = readPage(page)): readonly Snippet[] {
  const snippets: Snippet[] = []
  let open: { indent: string; language: string; line: number; lines: string[] } | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const [, indent = '', language = ''] = /^(\s*)```(.*)$/.exec(line) ?? [line]
    if (!line.startsWith(`${indent}\`\`\``)) open?.lines.push(line.slice(open.indent.length))
    else if (open === undefined) open = { indent, language: language.trim(), line: index + 2, lines: [] }
    else {
      snippets.push({ page, line: open.line, language: open.language, code: `${open.lines.join('\n')}\n` })
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line - 1}: a block of code is not closed`)
  return snippets
}

/** The path in a comment on the first line: a file of this repository or of the reader. */
export function pathOf({ code }: Snippet): string | undefined {
  return /^(?:\/\/|#) (\S+\.\w+)\n/.exec(code)?.[1]
}

/**
 * Files for blocks of TypeScript, so that the blocks of a page can import each other: a folder per page, and in it the path that a
 * block names.
 */
export function placesOf(snippets: readonly Snippet[]): readonly string[] {
  return snippets.map((snippet, index) => {
    const folder = snippet.page.replace(/\.md$/, '').replaceAll('/', '-')
    return `${folder}/${pathOf(snippet) ?? `block-${index}.ts`}`
  })
}

/**
 * The arguments of each call of a program in shell code. Understands quotes, comments, continued lines, variables before the command,
 * pipes and lists.
 */
export function callsOf(code: string, program: string): readonly (readonly string[])[] {
  return commandsOf(code).flatMap((words) => {
    const command = words.slice(words.findIndex((word) => !/^\w+=/.test(word)))
    const [first, second] = command
    if (first === program) return [command.slice(1)]
    return first === 'npx' && second === program ? [command.slice(2)] : []
  })
}

const token =
  /\\\n|[ \t]+|(#.*)|(\n|\|\|?|&&?|;|[<>]+|\$\(|[()])|((?:'[^']*'|"(?:\\[^]|[^"\\])*"|\\[^]|[^\s'"\\|&;<>()])+)/y

function commandsOf(code: string): string[][] {
  const commands: string[][] = [[]]
  for (token.lastIndex = 0; token.lastIndex < code.length;) {
    const at = token.lastIndex
    const [, comment, separator, word] = token.exec(code) ?? []
    if (token.lastIndex === 0) throw new Error(`unsupported shell syntax: ${code.slice(at, at + 60)}`)
    if (comment !== undefined) continue
    if (separator !== undefined) commands.push([])
    else if (word !== undefined) commands.at(-1)?.push(unquoted(word))
  }
  return commands.filter((words) => words.length > 0)
}

function unquoted(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:\\[^]|[^"\\])*)"|\\([^])/g,
    (_all, single?: string, double?: string, one = '') => {
      return single ?? double?.replaceAll(/\\([$`"\\])/g, '$1') ?? String(one)
    },
  )
}

const from = (module: string, ...names: readonly string[]) =>
  names.map((name) => [name, `typeof import('${module}').${name}`])

/** Names that a block may use without importing them, because the page introduced them, with their types. */
const known = [
  ...from(
    'onchain-inbox',
    'createInbox',
    'defineHandler',
    'defineSink',
    'InboxError',
    'RetryableError',
    'TerminalError',
  ),
  ...from('onchain-inbox/client', 'createClient'),
  ...from('onchain-inbox/emulator', 'createEmulator'),
  ...from('onchain-inbox/schema', 'eventSchemas', 'eventTypes'),
  ...from('onchain-inbox/testing', 'createEvent', 'createTestInbox', 'signedRequest'),
  ...from('vitest', 'expect', 'test'),
  ['express', "typeof import('express').default"],
  ['app', "import('express').Express"],
  ['inbox', "import('onchain-inbox').EmbeddedInbox"],
  ['client', "ReturnType<typeof import('onchain-inbox/client').createClient>"],
  ['event', "import('onchain-inbox').EventOf<'wallet.large_trade'>"],
  ['ctx', "import('onchain-inbox').HandlerContext"],
  ['secret', 'string'],
  ['url', 'string'],
]

/** Declarations of the known names. */
export const knownNames = known.map(([name, type]) => `declare const ${name}: ${type}\n`).join('')
