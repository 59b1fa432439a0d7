import { Anchor, Switch } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { HexView } from '../../ui/hex-view.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Panel } from '../../ui/page.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { formatCount } from '../../ui/format.ts'
import { base } from '../api-client.ts'
import { useConsoleApi } from './console-api.ts'

/** The exact bytes of an event: as JSON with its numbers as they were written, or byte by byte. */
export function EventBody({ id }: { readonly id: string }) {
  const api = useConsoleApi()
  const path = `/events/${encodeURIComponent(id)}/raw`
  const [bytes, setBytes] = useState<Uint8Array | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [isHex, setHex] = useState(false)
  useEffect(() => {
    const asked = new AbortController()
    setBytes(null)
    setError(null)
    api.bytes(path, asked.signal).then(setBytes, (thrown: Error) => {
      if (!asked.signal.aborted) setError(thrown)
    })
    return () => asked.abort()
  }, [api, path])
  const text = useMemo(() => (bytes === null ? null : textOf(bytes)), [bytes])

  return (
    <Panel
      title="Body"
      about={bytes === null ? undefined : `The exact ${formatCount(bytes.length)} bytes that were signed.`}
      actions={
        <>
          {text !== null && (
            <Switch
              size="sm"
              label="As bytes"
              checked={isHex}
              onChange={(event) => setHex(event.currentTarget.checked)}
            />
          )}
          <Anchor href={base + path} download={fileNameOf(id)} size="sm">
            Download
          </Anchor>
        </>
      }
    >
      <ErrorState error={error} />
      {bytes === null && error === null && <LoadingState what="the body" />}
      {bytes !== null && (text === null || isHex) && <HexView bytes={bytes} label="Bytes" />}
      {text !== null && !isHex && <JsonView text={text} label="Body" />}
    </Panel>
  )
}

/** Null where the bytes are no UTF-8. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** An id may be anything. */
function fileNameOf(id: string): string {
  return `${id.replaceAll(/[^\w.-]/g, '_').slice(0, 100)}.json`
}
