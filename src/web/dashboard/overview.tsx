import { Link } from 'wouter'
import { useGet, type ListJson } from '../ui/api.tsx'
import { formatCount } from '../ui/format.ts'
import { Page, Panel } from '../ui/shell.tsx'
import { Loaded } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { Tile } from '../ui/tile.tsx'
import { ClockPanel } from './clock.tsx'
import type { DeliveryCounts, StoredFault, World, WorldEvent } from './contract.ts'
import { duplicateNote } from './faults/faults.tsx'
import { eventColumns, eventKey, noEvents } from './events.tsx'

/** Counts of deliveries, the clock, and the newest events. */
export function OverviewPage() {
  const newest = useGet<ListJson<WorldEvent>>('/events?order=newest&limit=20')
  return (
    <Page title="Overview">
      <Figures />
      <ClockPanel />
      <Panel title="Newest events" isFlush note={<Link href="/events">All events</Link>}>
        <Loaded query={newest}>
          {({ data }) => (
            <DataTable
              caption="Newest events"
              columns={eventColumns}
              rows={data}
              rowKey={eventKey}
              hrefOf={(row) => `/events?open=${eventKey(row)}`}
              empty={noEvents}
            />
          )}
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
        <div className="ui-tiles">
          <Tile title="Acknowledged" value={formatCount(acknowledged)} href="/deliveries?state=acknowledged" />
          <Tile
            title="Pending"
            value={formatCount(pending)}
            note={`${formatCount(inFlight)} in flight`}
            href="/deliveries?state=pending"
          />
          <Tile
            title="Undelivered"
            value={formatCount(undelivered)}
            tone={undelivered > 0 ? 'bad' : 'good'}
            href="/deliveries?state=undelivered"
          />
          <Tile title="Duplicates" value={formatCount(duplicates)} note={duplicateNote(rules)} href="/faults" />
          <Tile title="Faults" value={formatCount(rules?.length)} note="rules in force" href="/faults" />
          <Tile
            title="Tracked wallets"
            value={formatCount(world?.trackedWallets.length)}
            note={`of ${formatCount(world?.counts.wallets)}`}
            href="/account"
          />
        </div>
      )}
    </Loaded>
  )
}
