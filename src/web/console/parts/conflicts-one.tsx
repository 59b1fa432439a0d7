import { Anchor } from '@mantine/core'
import { Address } from '../../ui/address.tsx'
import { formatCount } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { ConflictDetailJson } from '../contract.ts'
import { eventHref } from './bulk-links.ts'
import { Comparison } from './conflicts-comparison.tsx'

export interface ConflictPanelProps {
  readonly event: string
  readonly digest: string
}

/** One conflict: the body that was kept beside the one that came later. */
export function ConflictPanel({ event, digest }: ConflictPanelProps) {
  const path = `/conflicts/${encodeURIComponent(event)}${queryOf({ digest })}`
  const { data, error, reload } = useApi<ConflictDetailJson>(path)
  return (
    <Panel title="Both bodies" actions={<Anchor href="#/conflicts">Close</Anchor>}>
      <ErrorState error={error} onRetry={reload} />
      {data === null && error === null && <LoadingState what="both bodies" />}
      {data !== null && (
        <>
          <Facts
            facts={[
              ['Event', <Address key="event" value={data.event_id} href={eventHref(data.event_id)} />],
              ['Digest of the other one', <Address key="digest" value={data.digest} />],
              ['Came last', <Time key="at" at={data.received_at} />],
              ['Came', `${formatCount(data.count)} ×`],
            ]}
          />
          {data.raw_base64 === '' || data.kept_raw_base64 === '' ? (
            <p className="ui-dimmed bulk-about">
              The bytes are no longer kept: the event was pruned. The id stays known.
            </p>
          ) : (
            <Comparison keptBase64={data.kept_raw_base64} otherBase64={data.raw_base64} />
          )}
        </>
      )}
    </Panel>
  )
}
