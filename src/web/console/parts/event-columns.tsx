import { Address } from '../../ui/address.tsx'
import { Time } from '../../ui/time.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import type { VirtualColumn } from '../../ui/virtual-table.tsx'
import type { EventSummaryJson } from '../contract.ts'
import { EventStatusBadge } from './event-status.tsx'
import { eventHref } from './event-trail.ts'

/** Of a name that goes on and on a row shows its begin. */
const shownLength = 200

export const eventColumns: readonly VirtualColumn<EventSummaryJson>[] = [
  { header: 'Received', cell: ({ received_at }) => <Time at={received_at} /> },
  {
    header: 'Type',
    cell: ({ id, type }) => (
      <a className="ui-row-link" href={eventHref(id)}>
        <bdi>
          <code>{toVisible(type.slice(0, shownLength))}</code>
        </bdi>
      </a>
    ),
  },
  { header: 'Network', cell: ({ network }) => <PlainText value={network?.slice(0, shownLength)} /> },
  { header: 'Address', cell: ({ address }) => <Address value={address} /> },
  { header: 'Status', cell: ({ status }) => <EventStatusBadge status={status} /> },
]
