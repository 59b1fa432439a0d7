import { describe, expect, test } from 'vitest'
import type { Screen } from '../../src/cli/output.ts'
import { renderTable } from '../../src/cli/table.ts'

const screen = (columns: number): Screen => ({ columns, paint: (tone, text) => `<${tone}>${text}</>` })
const plain = (columns: number): Screen => ({ columns, paint: (_, text) => text })

const address = '0x1234567890123456789012345678901234567890'
const id = 'evt_01jgfj3k8m0q2s4v6x8z0b2d4f'
const head = ['received', 'status', 'type', 'address', 'id']
const row = ['2026-01-31T14:00:00.000Z', 'dead', 'contract.ownership_changed', address, id]

describe('renderTable', () => {
  test('fits columns to their widest cell, without trailing spaces', () => {
    expect(
      renderTable(
        ['a', 'bb'],
        [
          ['xxx', 'y'],
          ['x', ''],
        ],
        plain(Infinity),
      ),
    ).toBe('a    bb\nxxx  y\nx')
  })

  test('cuts the longest cells until a line fits', () => {
    const [, line = ''] = renderTable(
      ['id', 'error', 'reason'],
      [[id, 'e'.repeat(40), 'r'.repeat(30)]],
      plain(80),
    ).split('\n')
    expect(line).toBe(`${id}  ${'e'.repeat(22)}…  ${'r'.repeat(22)}…`)
    expect(line).toHaveLength(80)
  })

  test('never cuts values that people copy into commands', () => {
    const [, line = ''] = renderTable(head, [row], plain(40)).split('\n')
    expect(line).toBe(row.join('  ').replace('  dead  ', '  dead    '))
    const sink = 'kind=http url=https://example.com/hooks where={"data.amount_usd":{"gte":1000}}'
    expect(renderTable(['setting', 'value'], [['sink a', sink]], plain(40))).toContain(sink)
  })

  test('escapes control characters in cells', () => {
    const text = renderTable(['id', 'type'], [['\u001b[31mevt', 'a\u202eb\nc\u009b']], plain(80))
    expect(text.split('\n')[1]).toBe('\\u001b[31mevt  a\\u202eb\\u000ac\\u009b')
  })

  test('paints titles and states without changing widths', () => {
    expect(
      renderTable(
        ['id', 'status'],
        [
          ['1', 'done'],
          ['2', 'odd'],
        ],
        screen(80),
      ),
    ).toBe('<bold>id</>  <bold>status</>\n1   <green>done</>\n2   odd')
  })
})

test('cuts a text between wide characters', () => {
  const [, line] = renderTable(['id', 'reason'], [['1', '柴犬'.repeat(10)]], plain(19)).split('\n')
  expect(line).toBe(`1   ${'柴犬'.repeat(3)}柴…`)
})
