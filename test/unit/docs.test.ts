import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { settingNames, settings } from '../../src/config/settings.ts'
import { errorCatalogue } from '../../src/errors.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** The rows of the tables of a section, or of the whole page, whose first cell is `code`. */
function rowsOf(page: string, section?: string): string[][] {
  const text = section === undefined ? page : (page.split(/^## /m).find((part) => part.startsWith(section)) ?? '')
  return [...text.matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)].map(([, name = '', cells = '']) => [
    name,
    ...cells.split(' | ').map((cell) => cell.trim()),
  ])
}

describe('docs/operations.md', () => {
  const rows = rowsOf(read('docs/operations.md'), 'Settings')

  test('lists exactly the settings there are, in their order', () => {
    expect(rows.map(([name]) => name)).toEqual(settingNames)
  })

  test.each(settingNames)('gives the default of %s', (name) => {
    const shown = rows.find(([known]) => known === name)?.[1]?.replaceAll('`', '')
    const { type } = settings[name]
    const written = shown === '–' ? undefined : shown
    expect(type.parse(written)).toEqual(type.parse(undefined))
    if (written === undefined) expect(type.parse(undefined) ?? []).toEqual([])
  })
})

test('docs/errors.md lists exactly the codes there are, each with its status and exit code', () => {
  const rows = rowsOf(read('docs/errors.md'))
  const listed = rows.map(([code = '', status, exitCode]) => [
    code,
    { status: Number(status), exitCode: Number(exitCode) },
  ])
  expect(Object.fromEntries(listed)).toEqual(errorCatalogue)
  expect(rows).toHaveLength(Object.keys(errorCatalogue).length)
})

test('every link between pages leads to a file and a heading that are there', () => {
  const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root })]
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)]
      .filter(([, path = '', anchor]) => !leadsSomewhere(page, path, anchor))
      .map(([link]) => `${page}: ${link}`),
  )
  expect(broken).toEqual([])
})

function leadsSomewhere(page: string, path: string, anchor: string | undefined): boolean {
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, file))) return false
  return anchor === undefined || anchorsOf(read(file)).includes(anchor)
}

/** As GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}
