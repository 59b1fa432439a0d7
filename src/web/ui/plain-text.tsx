/** Characters that are not seen, or that change the order of what is: controls, marks of direction, other line ends. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** The text with everything that is not seen made visible as its code. */
export function toVisible(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Text that came from elsewhere, on one line: never markup, and kept from turning the direction of what is around it. */
export function PlainText({ value, fallback = '–' }: { readonly value: unknown; readonly fallback?: string }) {
  if (typeof value !== 'string' || value === '') return <>{fallback}</>
  return <bdi className="ui-text">{toVisible(value)}</bdi>
}
