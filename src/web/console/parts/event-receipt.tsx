import { Anchor } from '@mantine/core'
import { formatCount } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { Time } from '../../ui/time.tsx'
import type { EventDetailJson } from '../contract.ts'

/** How an event came: what verified it, how often, with which headers. */
export function EventReceipt({ receipt }: Pick<EventDetailJson, 'receipt'>) {
  const { headers, conflicts, duplicates, traceparent } = receipt
  return (
    <Panel title="Receipt">
      <Facts
        facts={[
          ['Received', <Time key="received" at={receipt.received_at} />],
          ['Stored', <Time key="stored" at={receipt.stored_at} />],
          ['Verified by secret', <PlainText key="secret" value={receipt.secret_label} />],
          ['Size', `${formatCount(receipt.size_bytes)} bytes`],
          ['Came again', duplicates === 0 ? 'never' : duplicates === 1 ? 'once' : `${formatCount(duplicates)} times`],
          [
            'Came with another body',
            conflicts === 0 ? (
              'never'
            ) : (
              <Anchor key="conflicts" href="#/conflicts">
                {formatCount(conflicts)} {conflicts === 1 ? 'conflict' : 'conflicts'}
              </Anchor>
            ),
          ],
          ['Trace', traceparent === null ? '–' : <code key="trace">{toVisible(traceparent)}</code>],
        ]}
      />
      {headers === null ? (
        <p className="ui-dimmed ui-note">Its headers were not kept.</p>
      ) : (
        <details className="ui-json">
          <summary>Headers</summary>
          <pre tabIndex={0} role="region" aria-label="Headers">
            {Object.entries(headers)
              .map(([name, value]) => `${toVisible(name)}: ${toVisible(value)}`)
              .join('\n')}
          </pre>
        </details>
      )}
    </Panel>
  )
}
