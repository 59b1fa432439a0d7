import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../ui/api.tsx'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { JsonView } from '../../ui/json-view.tsx'
import { Loaded } from '../../ui/states.tsx'
import { TextBlock } from '../../ui/text.tsx'

/** The exact bytes, read once the section is open. */
export function Body({ id, size }: { readonly id: string; readonly size: number }) {
  const api = useApi()
  const path = `/events/${encodeURIComponent(id)}/raw`
  const [isOpen, setOpen] = useState(false)
  const query = useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => api.bytes(path, signal),
    enabled: isOpen,
    staleTime: Infinity,
  })
  return (
    <section className="ui-stack">
      <h3>Body</h3>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Raw bytes ({formatBytes(size)})</summary>
        {isOpen && (
          <Loaded query={query} rows={3}>
            {(bytes) => (
              <Bytes bytes={bytes} label="Body" fileName={`${id.replaceAll(/[^\w.-]/g, '_').slice(0, 100)}.json`} />
            )}
          </Loaded>
        )}
      </details>
    </section>
  )
}

export interface BytesProps {
  readonly bytes: Uint8Array
  readonly label: string
  readonly fileName: string
}

/** Bytes as indented text; as a hex dump if they aren't UTF-8. */
export function Bytes({ bytes, label, fileName }: BytesProps) {
  const text = textOf(bytes)
  return (
    <div className="ui-stack">
      <span>
        <Button variant="default" onClick={() => save(fileName, bytes)}>
          Download
        </Button>
      </span>
      {text === null ? <TextBlock value={toHex(bytes)} label={label} /> : <JsonView text={text} label={label} />}
    </div>
  )
}

const perLine = 16
const maxHexBytes = 16_384

/** A hex dump with ASCII, in the format of `xxd`: `00000010  7b 22 69 64 …  {"id…`. */
export function toHex(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, maxHexBytes); at += perLine) {
    const part = [...bytes.subarray(at, at + perLine)]
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(perLine * 3 - 1)}  ${text}`)
  }
  const rest = bytes.length - maxHexBytes
  return rest > 0 ? `${lines.join('\n')}\n… ${formatCount(rest)} more bytes` : lines.join('\n')
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

function save(fileName: string, bytes: Uint8Array): void {
  const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>]))
  const link = Object.assign(document.createElement('a'), { href: url, download: fileName })
  link.click()
  // The browser reads it before the next task.
  setTimeout(() => URL.revokeObjectURL(url), 0)
}
