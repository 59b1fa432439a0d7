import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useGet, type ListJson } from '../ui/api.tsx'
import { formatCount } from '../ui/format.ts'
import { Page, Panel } from '../ui/shell.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { ClockPanel } from './clock.tsx'
import type { DeliveryCounts, StoredFault, World, WorldEvent } from './contract.ts'
import { duplicateNote } from './faults/faults.tsx'
import { eventColumns, eventKey, eventPaths } from './events.tsx'
import { useRefresh } from './use-refresh.ts'

/** Counts of deliveries, the clock, and the newest events. */
export function OverviewPage() {
  const newest = useGet<ListJson<WorldEvent>>('/events?order=newest&limit=20')
  useRefresh('event', eventPaths)
  return (
    <Page title="Overview">
      <Figures />
      <ClockPanel />
      <Panel title="Newest events" isFlush note={<Link href="/events">All events</Link>}>
        <Loaded query={newest}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title="No events yet">
                The world produces events by itself. <Link href="/triggers">Trigger one</Link> to see it at once.
              </Empty>
            ) : (
              <DataTable
                caption="Newest events"
                columns={eventColumns}
                rows={data}
                rowKey={eventKey}
                hrefOf={(row) => `/events?open=${eventKey(row)}`}
              />
            )
          }
        </Loaded>
      </Panel>
    </Page>
  )
}

function Figures() {
  const counts = useGet<DeliveryCounts>('/deliveries/counts')
  const rules = useGet<ListJson<StoredFault>>('/faults').data?.data
  const world = useGet<World>('/world').data
  return (
    <Loaded query={counts} rows={2}>
      {({ acknowledged, pending, inFlight, undelivered, duplicates }) => (
        <div className="dash-tiles">
          <Tile label="Acknowledged" value={acknowledged} to="/deliveries?state=acknowledged" />
          <Tile
            label="Pending"
            value={pending}
            note={`${formatCount(inFlight)} in flight`}
            to="/deliveries?state=pending"
          />
          <Tile label="Undelivered" value={undelivered} isBad to="/deliveries?state=undelivered" />
          <Tile label="Duplicates" value={duplicates} note={duplicateNote(rules)} to="/faults" />
          <Tile label="Faults" value={rules?.length} note="rules in force" to="/faults" />
          <Tile
            label="Tracked wallets"
            value={world?.trackedWallets.length}
            note={`of ${formatCount(world?.counts.wallets)}`}
            to="/account"
          />
        </div>
      )}
    </Loaded>
  )
}

interface TileProps {
  readonly label: string
  readonly value: number | undefined
  readonly note?: ReactNode
  readonly isBad?: boolean
  readonly to: string
}

function Tile({ label, value, note, isBad = false, to }: TileProps) {
  return (
    <Link href={to} className="dash-tile">
      <span>{label}</span>
      <strong className={isBad && value !== 0 ? 'ui-text-bad' : undefined}>{formatCount(value)}</strong>
      <span className="ui-dim">{note}</span>
    </Link>
  )
}
