import { expect, test } from 'vitest'
import type { Screen } from '../../src/cli/output.ts'
import { renderTable } from '../../src/cli/table.ts'

const plain = (columns: number): Screen => ({ columns, paint: (_, text) => text })
const colored: Screen = { columns: 80, paint: (tone, text) => `<${tone}>${text}</>` }

/** The lines of a table, whose head and rows are given as texts with `|` between cells. */
function linesOf(screen: Screen, ...texts: readonly string[]): readonly string[] {
  const [head = [], ...rows] = texts.map((text) => text.split('|'))
  return renderTable(head, rows, screen).split('\n')
}

const address = '0x1234567890123456789012345678901234567890'
const id = 'evt_01jgfj3k8m0q2s4v6x8z0b2d4f'

test('fits columns to their widest cell, without trailing spaces', () => {
  expect(linesOf(plain(Infinity), 'a|bb', 'xxx|y', 'x|')).toEqual(['a    bb', 'xxx  y', 'x'])
})

test('cuts the longest cells until a line fits, between wide characters', () => {
  const [, line = ''] = linesOf(plain(80), 'id|error|reason', `${id}|${'e'.repeat(40)}|${'r'.repeat(30)}`)
  expect(line).toBe(`${id}  ${'e'.repeat(22)}…  ${'r'.repeat(22)}…`)
  expect(line).toHaveLength(80)
  expect(linesOf(plain(19), 'id|reason', `1|${'柴犬'.repeat(10)}`)[1]).toBe(`1   ${'柴犬'.repeat(3)}柴…`)
})

test('never cuts values that people copy into commands', () => {
  const row = ['2026-01-31T14:00:00.000Z', 'dead', 'contract.ownership_changed', address, id]
  const [, line = ''] = linesOf(plain(40), 'received|status|type|address|id', row.join('|'))
  expect(line).toBe(row.join('  ').replace('  dead  ', '  dead    '))
  const sink = 'kind=http url=https://example.com/hooks where={"data.amount_usd":{"gte":1000}}'
  expect(linesOf(plain(40), 'setting|value', `sink a|${sink}`)[1]).toContain(sink)
})

test('escapes control characters in cells', () => {
  const [, line] = linesOf(plain(80), 'id|type', '\u001b[31mevt|a\u202eb\nc\u009b')
  expect(line).toBe('\\u001b[31mevt  a\\u202eb\\u000ac\\u009b')
})

test('paints titles and states without changing widths', () => {
  const lines = ['<bold>id</>  <bold>status</>', '1   <green>done</>', '2   odd']
  expect(linesOf(colored, 'id|status', '1|done', '2|odd')).toEqual(lines)
})
