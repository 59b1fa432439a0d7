/** Begins of cells that spreadsheets take for formulas, also in the wide forms of these characters. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/u
const special = /[",\r\n]/

/**
 * Rows as CSV (RFC 4180, with a head): a cell that a spreadsheet would take for a formula begins with an apostrophe, which keeps it a text.
 */
export function toCsv(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [head, ...rows].map((cells) => `${cells.map(toCell).join(',')}\r\n`).join('')
}

function toCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
