import { Anchor } from '@mantine/core'
import { formatCount } from '../../ui/format.ts'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { DeliveryCounts, World } from '../contract.ts'
import { LiveFeed } from '../parts/live-feed.tsx'

/** What goes on: deliveries, the world, and its events as they arise. */
export function OverviewPage() {
  return (
    <Page title="Overview">
      <div className="ui-columns">
        <DeliveriesPanel />
        <WorldPanel />
      </div>
      <LiveFeed />
    </Page>
  )
}

function DeliveriesPanel() {
  const { data, error, reload } = useApi<DeliveryCounts>('/deliveries/counts')
  const refresh = useThrottled(reload, 500)
  useStream('attempt', refresh)
  useStreamState(reload)
  return (
    <Panel title="Deliveries" actions={<Anchor href="#/deliveries">All deliveries</Anchor>}>
      <ErrorState error={error} onRetry={reload} />
      {data === null ? (
        error === null && <LoadingState what="the counts" />
      ) : (
        <div className="ui-figures">
          <Facts
            facts={[
              ['Acknowledged', formatCount(data.acknowledged)],
              ['Pending', formatCount(data.pending)],
              ['Being sent', formatCount(data.inFlight)],
              [
                'Undelivered',
                <Anchor key="undelivered" href="#/deliveries?state=undelivered">
                  {formatCount(data.undelivered)}
                </Anchor>,
              ],
              ['Cancelled', formatCount(data.cancelled)],
              ['Attempts', formatCount(data.attempts)],
            ]}
          />
        </div>
      )}
    </Panel>
  )
}

function WorldPanel() {
  const { data, error, reload } = useApi<World>('/world')
  useStreamState(reload)
  return (
    <Panel title="World" actions={<Anchor href="#/clock">Clock and stories</Anchor>}>
      <ErrorState error={error} onRetry={reload} />
      {data === null ? (
        error === null && <LoadingState what="the world" />
      ) : (
        <div className="ui-figures">
          <Facts
            facts={[
              ['Tokens', formatCount(data.counts.tokens)],
              ['Wallets', formatCount(data.counts.wallets)],
              ['Tracked wallets', formatCount(data.trackedWallets.length)],
            ]}
          />
        </div>
      )}
    </Panel>
  )
}
