import { createHash } from 'node:crypto'

/** No word has this character: a private one of Unicode. */
export const mark = '\ue000'

/** What an event is found by as a whole: its type, its network, its address. A digest, so that it is one term whatever it has in it. */
function exactTerm(field: 't' | 'n' | 'a', value: string): string {
  return `${mark}${field}${createHash('sha256').update(value).digest('hex').slice(0, 16)}`
}

export interface ExactFields {
  readonly type?: string | null | undefined
  readonly network?: string | null | undefined
  readonly address?: string | null | undefined
}

/** One term for each field that is given. None has anything in it but the mark, letters and digits. */
export function exactTerms({ type, network, address }: ExactFields): string[] {
  const term = (field: 't' | 'n' | 'a', value: string | null | undefined) => {
    return value === undefined || value === null ? [] : [exactTerm(field, value)]
  }
  return [...term('a', address), ...term('n', network), ...term('t', type)]
}
