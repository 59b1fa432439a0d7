import { Anchor } from '@mantine/core'
import { useState } from 'react'
import { Address } from '../../ui/address.tsx'
import { ApiError } from '../../ui/api.ts'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { QuarantinedDetailJson } from '../contract.ts'
import { BulkDialog, type BulkAct } from '../parts/bulk-dialog.tsx'
import { BodyButtons } from '../parts/quarantine-buttons.tsx'
import { BytesView } from '../parts/quarantine-bytes.tsx'
import { shortId } from '../parts/quarantine-list.tsx'
import { quarantineReason } from '../parts/quarantine-reasons.ts'

/** One body in quarantine with its exact bytes. */
export function QuarantinedPage({ id }: { readonly id: string }) {
  const { data, error, reload } = useApi<QuarantinedDetailJson>(`/quarantine/${encodeURIComponent(id)}`)
  const [act, setAct] = useState<BulkAct | null>(null)
  const back = <Anchor href="#/quarantine">All bodies in quarantine</Anchor>
  const isGone = error instanceof ApiError && error.status === 404
  const { title, means, todo } = quarantineReason(data?.reason ?? '')

  return (
    <Page
      title="Quarantined body"
      about={back}
      actions={
        data !== null && !isGone && <BodyButtons which={{ ids: [id] }} of="on this page" noun="it" onAct={setAct} />
      }
    >
      {isGone ? (
        <EmptyState title="It is not in quarantine any more">
          It was accepted after another try, dropped, or pruned: the <Anchor href="#/audit">audit</Anchor> says what was
          done.
        </EmptyState>
      ) : (
        <ErrorState error={error} onRetry={reload} />
      )}
      {data === null && error === null && <LoadingState what="the body" />}
      {data !== null && !isGone && (
        <>
          <Panel title={title} about={`${means} ${todo}`}>
            <Facts
              facts={[
                [
                  'Reason',
                  <code key="reason" className="ui-mono">
                    {toVisible(data.reason)}
                  </code>,
                ],
                ['Received', <Time key="received" at={data.received_at} />],
                ['Size', formatBytes(data.size_bytes)],
                ['Came', `${formatCount(data.count)} ×`],
                ['Verified by', <PlainText key="label" value={data.secret_label} />],
                ['Id', <Address key="id" value={data.id} />],
              ]}
            />
          </Panel>
          <Panel title="Body">
            <BytesView base64={data.raw_base64} label="Body" fileName={`quarantined-${shortId(id)}.bin`} />
          </Panel>
        </>
      )}
      <BulkDialog act={act} onClose={() => setAct(null)} onDone={reload} />
    </Page>
  )
}
