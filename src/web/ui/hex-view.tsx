import { useState } from 'react'
import { Button } from '@mantine/core'

export interface HexViewProps {
  readonly bytes: Uint8Array
  readonly label: string
}

const perLine = 16
const linesAtOnce = 256

/** A hex dump with ASCII, in the format of `xxd`. Long bodies are shown in steps. */
export function HexView({ bytes, label }: HexViewProps) {
  const [shown, setShown] = useState(linesAtOnce)
  const lines = Math.ceil(bytes.length / perLine)
  return (
    <div className="ui-stack">
      <pre tabIndex={0} role="region" aria-label={label} className="ui-block">
        {toHexLines(bytes.subarray(0, shown * perLine))}
      </pre>
      {lines > shown && (
        <Button size="xs" variant="default" onClick={() => setShown(shown + 16 * linesAtOnce)}>
          Show more
        </Button>
      )}
    </div>
  )
}

/** One line per 16 bytes: `00000010  7b 22 69 64 …  {"id…`. */
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
