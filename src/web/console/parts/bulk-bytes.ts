/** Bytes out of base64, as the admin API gives them. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

/** The text of bytes; what is no UTF-8 is shown as U+FFFD. A byte-order mark stays. */
export function toText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

const perLine = 16

/** Lines of offset, 16 bytes in hex, and what of them is ASCII: `00000000  7b 22 …  {"`. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let offset = 0; offset < bytes.length; offset += perLine) {
    const part = Array.from(bytes.subarray(offset, offset + perLine))
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const ascii = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')
    lines.push(`${offset.toString(16).padStart(8, '0')}  ${hex.padEnd(perLine * 3 - 1)}  ${ascii}`)
  }
  return lines.join('\n')
}

/** Saves bytes as a file, which no browser shows or runs. */
export function saveBytes(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
