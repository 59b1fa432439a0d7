// Control characters, bidi overrides and line separators could forge log lines or reorder displayed text.
const unsafe =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Makes external text safe for logs and terminals: escapes control and bidi characters, limits the length. */
export function safeText(text: string, maxLength = 300): string {
  const escaped = text.replace(unsafe, (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
  return escaped.length > maxLength ? `${escaped.slice(0, maxLength)}…` : escaped
}
