/** Reads one value of an event's JSON by its path, without loss. */
export type ExactReader = (path: string) => string | undefined

/** A number or boolean as it stands in the text. */
class SourceText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Makes a reader of the values in a JSON text that keeps every digit: `exact('data.amount_usd')` gives the characters of
 * the number as the sender wrote them (`18446744073709551615`, `1e-18`, `0.1000`), where a JavaScript number would round.
 *
 * A path names keys from the outside in, with dots between; in an array the index is the key (`data.triggered_checks.0`).
 * A dot may also be part of a key: where descending finds nothing, a longer key that contains the dots is tried.
 * Numbers and booleans give their source text, strings their value; objects, arrays, `null` and what is not there give
 * undefined. Of a key that occurs twice the last one counts, as in `JSON.parse`.
 *
 * The text is parsed at the first use and only then. Throws a SyntaxError if it is no JSON, and a RangeError if it is
 * nested thousands deep; the receiver lets neither through.
 */
export function createExactReader(text: string): ExactReader {
  let root: { readonly value: unknown } | undefined
  return (path) => {
    root ??= { value: JSON.parse(text, keepSource) }
    return find(root.value, path)
  }
}

function keepSource(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const isLossy = typeof value === 'number' || typeof value === 'boolean'
  return isLossy && context?.source !== undefined ? new SourceText(context.source) : value
}

/** Each node has one way to it, so this visits none twice, however many dots the path has. */
function find(node: unknown, path: string): string | undefined {
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const child = childOf(node, path.slice(0, dot))
    const found = child === undefined ? undefined : find(child, path.slice(dot + 1))
    if (found !== undefined) return found
  }
  const leaf = childOf(node, path)
  if (leaf instanceof SourceText) return leaf.text
  return typeof leaf === 'string' ? leaf : undefined
}

/** Own members only: `__proto__` and `constructor` are keys like any other. (The `length` of an array is no SourceText.) */
function childOf(node: unknown, key: string): unknown {
  if (typeof node !== 'object' || node === null || node instanceof SourceText) return undefined
  return Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined
}
