import { Button, NativeSelect } from '@mantine/core'
import { useMemo, useState } from 'react'
import { formatCount } from '../../ui/format.ts'
import { indentJson } from '../../ui/indent-json.ts'
import { fromBase64, hexDump, saveBytes, toText } from './bulk-bytes.ts'
import { TextBlock } from './bulk-text.tsx'

const ways = [
  { value: 'lines', label: 'Text, JSON on lines of its own' },
  { value: 'text', label: 'Text as it came' },
  { value: 'hex', label: 'Bytes in hex' },
] as const
type Way = (typeof ways)[number]['value']

const mostHexBytes = 8_192
const mostTextBytes = 65_536

export interface BytesViewProps {
  readonly base64: string
  readonly label: string
  readonly fileName: string
}

/** Exact bytes as text or in hex, as far as anybody reads; the file has all of them. */
export function BytesView({ base64, label, fileName }: BytesViewProps) {
  const bytes = useMemo(() => fromBase64(base64), [base64])
  const [way, setWay] = useState<Way>('lines')
  const most = way === 'hex' ? mostHexBytes : mostTextBytes
  const text = useMemo(() => {
    const part = bytes.subarray(0, most)
    if (way === 'hex') return hexDump(part)
    return way === 'text' ? toText(part) : indentJson(toText(part))
  }, [bytes, way, most])
  return (
    <div className="ui-stack">
      <div className="ui-form">
        <NativeSelect
          label="Show as"
          data={[...ways]}
          value={way}
          onChange={(event) => setWay(event.currentTarget.value as Way)}
        />
        <Button variant="default" onClick={() => saveBytes(bytes, fileName)}>
          Download the exact bytes
        </Button>
      </div>
      {bytes.length > most && (
        <p className="ui-dimmed bulk-about">
          The first {formatCount(most)} of {formatCount(bytes.length)} bytes. The download has all of them.
        </p>
      )}
      {bytes.length === 0 ? (
        <p className="ui-dimmed bulk-about">It is empty: no bytes came.</p>
      ) : (
        <TextBlock text={text} label={label} />
      )}
    </div>
  )
}
