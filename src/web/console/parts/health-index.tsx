import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { formatBytes, formatCount, formatDuration } from '../../ui/format.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Facts, Panel } from '../../ui/page.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import type { IndexStatusJson } from '../contract.ts'
import { useRole } from './role.ts'

/** It takes what was stored in steps, so a little behind is as ever. */
const usualLagMs = 2_000

const tones: Readonly<Record<IndexStatusJson['state'], Tone>> = { current: 'good', building: 'info', off: 'warning' }

/** The index that events are found by: a file of its own, which can be made anew at any time. */
export function IndexPanel({ index, onDone }: { readonly index: IndexStatusJson; readonly onDone: () => void }) {
  const api = useApiClient()
  const isOperator = useRole() === 'operator'
  return (
    <Panel
      title="Search index"
      about="Events are found by their words through it. It is made of the stored events, and holds nothing that is not there too."
      actions={
        isOperator && (
          <ConfirmButton
            label="Rebuild"
            name="Rebuild the index"
            title="Rebuild the index?"
            verb="Rebuild"
            isDangerous={false}
            onConfirm={async () => {
              await api.send('POST', '/index/rebuild')
              onDone()
            }}
          >
            It is thrown away and made anew, in small steps that make way for deliveries. Until then older events are
            not found by their words.
          </ConfirmButton>
        )
      }
    >
      <Facts
        facts={[
          [
            'State',
            <span key="state" className="ui-row">
              <StatusBadge status={index.state} tone={tones[index.state]} />
              {index.state === 'current' && index.behind > 0 && index.lag_ms > usualLagMs && 'catching up'}
            </span>,
          ],
          ['Why', <LongText key="reason" value={index.reason} />],
          ['Indexed up to', formatCount(index.indexed_seq)],
          ['Behind', formatCount(index.behind)],
          ['Lag', formatDuration(index.lag_ms)],
          ['Size', formatBytes(index.size_bytes)],
        ]}
      />
    </Panel>
  )
}
