const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const isPlain = /^[\x20-\x7e]*$/
const isWide =
  /\p{Emoji_Presentation}|\p{RGI_Emoji}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/v

/** How many columns of a terminal a text takes, which has no control characters. */
export function textWidth(text: string): number {
  if (isPlain.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += isWide.test(segment) ? 2 : 1
  return width
}

/** As much of the text as goes into `width` columns, with `…` in the place of what had to go. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const parts = Array.from(graphemes.segment(text), ({ segment }) => segment)
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
