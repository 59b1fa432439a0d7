const isPlain = /^[\x20-\x7e]*$/

// Both are made when a text first wants them, and not by commands that write plain text: they take some 40 ms, the expression
// even where it is only read.
let segmenter: Intl.Segmenter | undefined
let wide: RegExp | undefined

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

function isWide(grapheme: string): boolean {
  wide ??= new RegExp(
    String.raw`\p{Emoji_Presentation}|\p{RGI_Emoji}|` +
      String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]`,
    'v',
  )
  return wide.test(grapheme)
}

/** How many columns of a terminal a text takes, which has no control characters. */
export function textWidth(text: string): number {
  if (isPlain.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) width += isWide(segment) ? 2 : 1
  return width
}

/** As much of the text as goes into `width` columns, with `…` in the place of what had to go. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const parts = Array.from(graphemesOf(text), ({ segment }) => segment)
  return [...fitting(parts, width - 1), '…'].join('')
}

function fitting(parts: readonly string[], room: number): string[] {
  const fit: string[] = []
  for (let used = 0; fit.length < parts.length;) {
    const part = parts[fit.length] ?? ''
    used += textWidth(part)
    if (used > room) break
    fit.push(part)
  }
  return fit
}
