import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatBytes, formatCount, formatDuration } from '../../ui/format.ts'
import { shortText } from '../../ui/long-text.tsx'
import { Facts, Panel } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import type { OverviewJson } from '../contract.ts'
import { formatRate } from './overview-format.ts'
import { useServerNow } from './overview-live.ts'

/** What comes in, what waits, and what lies aside, each with the way to it. */
export function FigurePanels({ overview }: { readonly overview: OverviewJson }) {
  const now = useServerNow(overview.now)
  const { oldest_open_at: oldest } = overview
  const age = oldest === null ? '–' : formatDuration(Math.max(0, now - Date.parse(oldest)))
  return (
    <>
      <Panel title="Work" actions={<Anchor href="#/handlers">Handlers</Anchor>}>
        <div className="ui-figures">
          <Facts
            facts={[
              ['Events per second', formatRate(overview.events_per_second)],
              ['Events stored', <Linked key="events" to="/events" count={overview.events} />],
              ['Runs that wait', <Linked key="open" to="/handlers" count={overview.open_runs} />],
              ['Oldest of them', age],
              ['Dead letters', <Linked key="dead" to="/dead-letters" count={overview.dead_letters} isBad />],
              ['Of these hold a key', <Linked key="held" to="/dead-letters" count={overview.held} isBad />],
            ]}
          />
        </div>
      </Panel>
      <Panel title="Store" actions={<Anchor href="#/health">Health</Anchor>}>
        <div className="ui-figures">
          <Facts
            facts={[
              ['Quarantine', <Linked key="quarantine" to="/quarantine" count={overview.quarantined} isBad />],
              ['Conflicts', <Linked key="conflicts" to="/conflicts" count={overview.conflicts} isBad />],
              ['Rejects', <Linked key="rejects" to="/rejects" count={overview.rejects} />],
              ['Size', formatBytes(overview.store_bytes)],
            ]}
          />
        </div>
        <p className="console-version ui-dimmed">
          Version {shortText(overview.version)}, running since <Time at={overview.started_at} /> UTC.
        </p>
      </Panel>
    </>
  )
}

function Linked(props: { readonly to: string; readonly count: number; readonly isBad?: boolean }): ReactNode {
  const { to, count, isBad = false } = props
  return (
    <Anchor href={`#${to}`} className={isBad && count > 0 ? 'ui-bad' : ''}>
      {formatCount(count)}
    </Anchor>
  )
}
