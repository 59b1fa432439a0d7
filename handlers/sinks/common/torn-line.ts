import type { FileHandle } from 'node:fs/promises'

/** What is at the end of a file of lines: `whole` lines, a last line that only lacks its newline, or part of one from `start` on. */
export type FileEnd =
  | { readonly kind: 'whole' }
  | { readonly kind: 'unended' }
  | { readonly kind: 'torn'; readonly start: number }

const newline = 0x0a
const blockBytes = 64 * 1024
/** More than any line has: a file whose last line is longer was not written by us. */
const longestLine = 64 * 1024 * 1024

/** Looks at the last line of a file of `length` bytes. Throws if that is so long that the file must be of another kind. */
export async function readFileEnd(handle: FileHandle, length: number): Promise<FileEnd> {
  if (length === 0) return { kind: 'whole' }
  const blocks: Buffer[] = []
  let start = length
  while (start > 0) {
    const size = Math.min(blockBytes, start)
    const { buffer } = await handle.read(Buffer.alloc(size), 0, size, start - size)
    const at = buffer.lastIndexOf(newline)
    if (start === length && at === size - 1) return { kind: 'whole' }
    blocks.unshift(buffer.subarray(at + 1))
    start -= size - (at + 1)
    if (at !== -1) break
    if (length - start > longestLine) throw new Error('it does not look like a file of lines of JSON')
  }
  return isObject(Buffer.concat(blocks).toString()) ? { kind: 'unended' } : { kind: 'torn', start }
}

/** Objects only: `12` may be the beginning of `123`. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
