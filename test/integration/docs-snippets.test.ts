import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { knownNames, pages, pathOf, placesOf, readPage, snippetsOf, type Snippet } from '../support/snippets.ts'
import { createTempDir } from '../support/temp-dir.ts'

const root = join(import.meta.dirname, '../..')
const snippets = pages.flatMap((page) => snippetsOf(page))
const inLanguage = (...languages: string[]) => snippets.filter(({ language }) => languages.includes(language))
const at = ({ page, line }: Snippet) => `${page}:${line}`

/** The file of this repository that a block shows. */
function fileOf(snippet: Snippet): string | undefined {
  const path = pathOf(snippet)
  return path !== undefined && existsSync(join(root, path)) ? path : undefined
}

/** Compiler errors of blocks, each compiled as a module with the options of this repository. */
async function complaintsOn(blocks: readonly Snippet[]): Promise<readonly string[]> {
  await using dir = await createTempDir()
  await symlink(join(root, 'node_modules'), join(dir.path, 'node_modules'))
  await writeFile(join(dir.path, 'package.json'), '{"type":"module"}')
  const places = placesOf(blocks)
  await mkdir(join(dir.path, 'blocks'))
  await writeFile(join(dir.path, 'blocks/known.d.ts'), knownNames)
  for (const [index, { code }] of blocks.entries()) {
    const file = join(dir.path, 'blocks', places[index] ?? '')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, `${code}export {}\n`)
  }
  const config = { extends: join(root, 'tsconfig.json'), include: ['blocks'], compilerOptions: { incremental: false } }
  await writeFile(join(dir.path, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const run = promisify(execFile)(process.execPath, [tsc, '-p', dir.path, '--pretty', 'false'], { cwd: dir.path })
  const output = await run.then(
    () => '',
    (error: { readonly stdout: string }) => error.stdout,
  )
  return output
    .trim()
    .split('\n')
    .filter((line) => line.includes(': error '))
    .map((line) => {
      const [, place = '', row = '', message = ''] = /blocks\/(.*?)\((\d+),\d+\): (.*)/.exec(line) ?? []
      const block = blocks[places.indexOf(place)]
      return block === undefined ? line : `${block.page}:${block.line + Number(row) - 1}: ${message}`
    })
}

describe('code in the docs', () => {
  test('TypeScript compiles, and a broken block is found with its line', async () => {
    const page = [
      '# Page',
      '```ts',
      "import { defineHandler } from 'onchain-inbox'",
      '',
      'defineHandler({ typ: 1 })',
      '```',
    ]
    const blocks = inLanguage('ts').filter((snippet) => fileOf(snippet) === undefined)
    const complaints = await complaintsOn([...snippetsOf('page.md', page.join('\n')), ...blocks])
    expect(complaints).toEqual([expect.stringMatching(/^page\.md:5: error TS\d+: /)])
    expect(blocks.length).toBeGreaterThan(5)
  }, 60_000)

  test('blocks that name a file show it, and all files of docs/examples are shown', () => {
    const shown = snippets.filter((snippet) => fileOf(snippet) !== undefined)
    for (const snippet of shown) {
      const { code } = snippet
      expect(code.slice(code.indexOf('\n') + 1), at(snippet)).toBe(readPage(fileOf(snippet) ?? ''))
    }
    expect(shown.map(fileOf)).toEqual(expect.arrayContaining(globSync('docs/examples/*.ts', { cwd: root })))
  })

  test('JSON and NDJSON parse', () => {
    const wrong = inLanguage('json', 'ndjson').filter(
      ({ code }) => !isJson(code) && !code.trim().split('\n').every(isJson),
    )
    expect(wrong.map(at)).toEqual([])
  })

  test('YAML parses', () => {
    const wrong = inLanguage('yaml').flatMap((snippet) =>
      parseAllDocuments(snippet.code).flatMap(({ errors }) =>
        errors.map(({ message }) => `${at(snippet)}: ${message}`),
      ),
    )
    expect(wrong).toEqual([])
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
