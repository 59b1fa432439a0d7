// Makes docs/demo.svg, the picture in the README, from what the built demo prints: npm run build && node docs/make-demo-svg.ts
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const seconds = 8
const columns = 150
const charWidth = 7.8
const lineHeight = 18
const padding = 20

const root = join(import.meta.dirname, '..')
const program = join(root, 'dist/src/cli.js')
const svg = draw([`$ onchain-inbox demo --seconds ${seconds}`, ...capture().split('\n')])
writeFileSync(join(root, 'docs/demo.svg'), svg)

/** Runs the demo in an empty folder, so that its counts start at zero. Commands are shown as `npm start` prints them. */
function capture(): string {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-demo-'))
  try {
    const command = [program, 'demo', '--seconds', String(seconds)]
    const printed = execFileSync(process.execPath, command, { cwd: folder, encoding: 'utf8' })
    return stripVTControlCharacters(printed)
      .replaceAll(`node ${program}`, 'npx onchain-inbox')
      .replaceAll(root, '.')
      .trimEnd()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function draw(lines: readonly string[]): string {
  const rows = lines.flatMap(wrap)
  const width = Math.ceil(columns * charWidth + 2 * padding)
  const height = rows.length * lineHeight + 2 * padding
  const texts = rows.map((row, index) => {
    const y = padding + (index + 1) * lineHeight - 5
    return row === '' ? '' : `<text x="${padding}" y="${y}">${escape(row)}</text>\n`
  })
  const font = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13"'
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>What onchain-inbox prints in its demo</title>
<rect width="100%" height="100%" rx="8" fill="#11151c"/>
<g ${font} fill="#d5dbe5" style="white-space: pre">
${texts.join('')}</g>
</svg>
`
}

/** Breaks a long line as a terminal does. */
function wrap(line: string): string[] {
  return line === '' ? [''] : (line.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? [])
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
