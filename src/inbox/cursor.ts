import { InboxError } from '../errors.ts'

/** Makes the opaque cursor of a page that ended at `n`, an integer from 0. */
export function encodeCursor(n: number): string {
  return Buffer.from(String(n)).toString('base64url')
}

/** Reads what `encodeCursor` made. Throws `bad_request` for anything else. */
export function decodeCursor(text: string): number {
  const n = Number(Buffer.from(text, 'base64url').toString('latin1'))
  if (Number.isSafeInteger(n) && n >= 0 && encodeCursor(n) === text) return n
  throw new InboxError('bad_request', 'The cursor is not valid: pass the next_cursor of the page before, unchanged.')
}
