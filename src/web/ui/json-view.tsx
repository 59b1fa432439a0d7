import { Copy } from './values.tsx'
import { TextBlock } from './text.tsx'

/** An indented JSON text with its numbers digit by digit. Copies the original text. */
export function JsonView({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="ui-json">
      <Copy value={text} label={label.toLowerCase()} />
      <TextBlock value={indentJson(text)} label={label} />
    </div>
  )
}

/** Invisible characters, and marks of text direction. */
const unseen = /[\p{Cf}\u007f-\u009f\u2028\u2029]/gu

/**
 * Indents a JSON text by two spaces. Numbers and strings keep every character, except that invisible characters become `\u` codes.
 */
export function indentJson(text: string): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+|"/gs) ?? []
  let depth = 0
  let out = ''
  const line = () => `\n${'  '.repeat(depth)}`
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1]
    if (token === '{' || token === '[') {
      depth++
      out += next === '}' || next === ']' ? token : token + line()
    } else if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1)
      const before = tokens[index - 1]
      out += before === '{' || before === '[' ? token : line() + token
    } else if (token === ',') out += token + line()
    else if (token === ':') out += ': '
    else out += token.replace(unseen, toCodes)
  }
  return out
}

function toCodes(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}
