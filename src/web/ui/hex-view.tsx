import { useState } from 'react'
import { Button } from '@mantine/core'
import { formatCount } from './format.ts'

export interface HexViewProps {
  readonly bytes: Uint8Array
  /** What they are. */
  readonly label: string
}

const perLine = 16
/** So many lines at once: more are shown on request. */
const linesAtOnce = 256

/** Bytes as hexadecimal numbers with their ASCII beside them, as `xxd` has them. */
export function HexView({ bytes, label }: HexViewProps) {
  const [shown, setShown] = useState(linesAtOnce)
  const lines = Math.ceil(bytes.length / perLine)
  return (
    <div className="ui-json">
      <pre tabIndex={0} role="region" aria-label={label} className="ui-hex">
        {toHexLines(bytes.subarray(0, shown * perLine))}
      </pre>
      {lines > shown && (
        <Button size="xs" variant="default" onClick={() => setShown(shown + 16 * linesAtOnce)}>
          Show more of {formatCount(bytes.length)} bytes
        </Button>
      )}
    </div>
  )
}

/** `00000010  7b 22 69 64 …  {"id…` for each 16 bytes. */
export function toHexLines(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += perLine) {
    const part = [...bytes.subarray(at, at + perLine)]
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(perLine * 3 - 1)}  ${text}`)
  }
  return lines.join('\n')
}
