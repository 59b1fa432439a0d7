/** What a query string says; or what is wrong with it, for people. */
export type ParsedQuery =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly parameter: string; readonly problem: string }

const none: ParsedQuery = { ok: true, values: Object.freeze({}) }

/** The parameters of a request target. A parameter that is given twice, or is not well-formed percent-encoding, is a problem. */
export function parseQuery(target: string): ParsedQuery {
  const start = target.indexOf('?')
  if (start < 0 || start === target.length - 1) return none
  const values = Object.create(null) as Record<string, string>
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    if (name === null || value === null) {
      return { ok: false, parameter: name ?? pair, problem: 'expected well-formed percent-encoding of UTF-8' }
    }
    if (name in values) return { ok: false, parameter: name, problem: 'expected it once, it is given more than once' }
    values[name] = value
  }
  return { ok: true, values }
}

const special = /[%+]/

function decode(text: string): string | null {
  if (!special.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
