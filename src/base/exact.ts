import { parseExactJson } from './exact-json.ts'

/** Reads one value of an event's JSON by its path, without loss. */
export type ExactReader = (path: string) => string | undefined

/** Missing in TypeScript's types. */
const { isRawJSON } = JSON as unknown as { isRawJSON: (value: unknown) => value is { rawJSON: string } }

/**
 * Creates a reader for the values of a JSON text that keeps every digit. `exact('data.amount_usd')` returns the number
 * as the sender wrote it (`18446744073709551615`, `1e-18`, `0.1000`), where a JavaScript number would round.
 *
 * A path lists keys from the outside in, separated by dots. In an array the index is the key
 * (`data.triggered_checks.0`). A key may contain dots: if descending finds nothing, a longer key with the dots is
 * tried. Numbers and booleans return their source text, strings their value; objects, arrays, `null` and missing values
 * return undefined. If a key occurs twice, the last one counts, as in `JSON.parse`.
 *
 * The text is parsed once, on first use. Throws a SyntaxError for invalid JSON and a RangeError for nesting thousands
 * of levels deep; the receiver rejects both.
 */
export function createExactReader(text: string): ExactReader {
  let root: { readonly value: unknown } | undefined
  return (path) => {
    root ??= { value: parseExactJson(text) }
    return find(root.value, path)
  }
}

/** Each node has one path to it, so none is visited twice, even if the path has many dots. */
function find(node: unknown, path: string): string | undefined {
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const child = childOf(node, path.slice(0, dot))
    const found = child === undefined ? undefined : find(child, path.slice(dot + 1))
    if (found !== undefined) return found
  }
  const leaf = childOf(node, path)
  if (isRawJSON(leaf)) return leaf.rawJSON
  if (typeof leaf === 'number' || typeof leaf === 'boolean') return String(leaf)
  return typeof leaf === 'string' ? leaf : undefined
}

/** Reads own enumerable properties only: `__proto__` and `constructor` are ordinary keys, and an array has no `length`. */
function childOf(node: unknown, key: string): unknown {
  if (typeof node !== 'object' || node === null || isRawJSON(node)) return undefined
  return Object.prototype.propertyIsEnumerable.call(node, key) ? Reflect.get(node, key) : undefined
}
