import type { ProviderName } from '../../schema/index.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createMetrics } from '../../src/admin/metrics.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { settingNames, settings } from '../../src/config/settings.ts'
import { errorCatalogue } from '../../src/base/errors.ts'
import type { Provider } from '../../src/sources/provider.ts'
import { providerNames, providers } from '../../src/sources/providers/index.ts'
import { resolveSources } from '../../src/sources/settings.ts'
import type { InboxStats } from '../../src/inbox/port.ts'
import { handlerStats, inboxStats } from '../support/stats.ts'

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

  test('lists all settings in order with their descriptions', () => {
    const described = settingNames.map((name) => [name, settings[name].description])
    expect(rows.map(([name, , ...cells]) => [name, cells.join(' | ')])).toEqual(described)
  })

  test.each(settingNames)('gives the default of %s', (name) => {
    const shown = rows.find(([known]) => known === name)?.[1]?.replaceAll('`', '')
    const { type } = settings[name]
    const written = shown === '–' ? undefined : shown
    expect(type.parse(written)).toEqual(type.parse(undefined))
    if (written === undefined) expect(type.parse(undefined) ?? []).toEqual([])
  })
})

describe('docs/sources.md', () => {
  const page = read('docs/sources.md')

  test('lists all providers in order, with every header that is verified', () => {
    const rows = [...page.matchAll(/^\| \[`([^`]+)`\]\(\S+\) \| ([^|]+)\|/gm)]
    expect(rows.map(([, name]) => name)).toEqual(providerNames)
    for (const [, name, headers] of rows) {
      const { verify }: Provider = providers[name as ProviderName]
      const { header, timestamp, keyIdHeader = header } = verify[0]!
      const timeHeader = timestamp && 'header' in timestamp.from ? timestamp.from.header : header
      for (const needed of [header, keyIdHeader, timeHeader]) expect(headers, name).toContain(`\`${needed}\``)
    }
  })

  const examples = [...page.matchAll(/```[jt]s\n([^`]+)```/g)].map(([, example = '']) => example)
  const blocks = examples.filter((example) => !example.includes('import'))

  test.each(blocks.map((block) => [block.split('\n')[0], block] as const))(
    'has a valid block: %s',
    async (_, block) => {
      const code = block.includes('export default') ? block : `export default { sources: {${block}} }`
      const { default: config } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
        readonly default: { readonly sources: object }
      }
      expect(resolveSources(config.sources, []).problems).toEqual([])
    },
  )

  test('has a block of every provider', () => {
    for (const name of providerNames) expect(blocks.join('')).toContain(`provider: '${name}'`)
  })
})

test('docs/errors.md lists exactly the existing error codes, each with its status and exit code', () => {
  const rows = rowsOf(read('docs/errors.md'))
  const listed = rows.map(([code = '', status, exitCode]) => [
    code,
    { status: Number(status), exitCode: Number(exitCode) },
  ])
  expect(Object.fromEntries(listed)).toEqual(errorCatalogue)
  expect(rows).toHaveLength(Object.keys(errorCatalogue).length)
})

test('the image, a new project and the systemd unit start `serve` with the same settings', () => {
  expect(read('src/cli.ts').split('\n')[0]).toBe('#!/usr/bin/env node')
  expect(read('package.json')).toContain('"start": "node --disable-sigusr1 dist/src/cli.js demo"')
  for (const file of ['Dockerfile', 'src/cli/init/project.ts']) {
    expect(read(file)).toMatch(
      /\nCMD \["node", "--disable-sigusr1", "--max-semi-space-size=4", "[\w/-]*dist\/src\/cli\.js", "serve", "--json"\]/,
    )
  }
  for (const file of ['Dockerfile', 'src/cli/init/project.ts', 'docs/deploy.md']) {
    expect(read(file)).toContain('MALLOC_ARENA_MAX=2')
  }
  expect(read('docs/deploy.md')).toContain(
    '\nExecStart=/usr/bin/node --disable-sigusr1 --max-semi-space-size=4 /opt/onchain-inbox/dist/src/cli.js serve\n',
  )
})

test('git ignores the secrets folder of docs/compose.yaml', () => {
  expect(read('docs/compose.yaml')).toContain('file: ./secrets/webhook')
  expect(read('.gitignore').split('\n')).toContain('docs/secrets/')
})

test('docs/operations.md names the metrics that are missing while the store cannot be read', async () => {
  const namesOf = async (stats: () => Promise<InboxStats>) => {
    const text = await createMetrics({ inbox: { stats }, clock: createTestClock() }).scrape()
    return new Set([...text.matchAll(/^(inbox_\w+)[ {]/gm)].map(([, name = '']) => name))
  }
  const all = await namesOf(async () => inboxStats({ handlers: [handlerStats('a')] }))
  const remaining = await namesOf(() => Promise.reject(new Error('unreadable')))
  const row =
    rowsOf(read('docs/operations.md'))
      .find(([name]) => name === 'inbox_store_readable')
      ?.join('') ?? ''
  expect([...row.matchAll(/`(inbox_\w+)`/g)].map(([, name]) => name)).toEqual(
    [...all].filter((name) => !remaining.has(name)),
  )
})
