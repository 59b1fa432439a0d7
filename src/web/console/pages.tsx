import { Button } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { Link, Route, Switch } from 'wouter'
import { useApi, useGet } from '../ui/api.tsx'
import { formatDuration } from '../ui/format.ts'
import { useIsLive } from '../ui/live.tsx'
import { Page, Shell, type NavLink } from '../ui/shell.tsx'
import { Empty } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import type { HandlerListJson } from '../../admin/handlers.ts'
import type { OverviewJson } from '../../admin/overview.ts'
import { DeadLettersPage } from './dead-letters.tsx'
import { DeliveriesPage } from './deliveries/deliveries.tsx'
import { EventPage } from './events/event.tsx'
import { EventsPage } from './events/events.tsx'
import { HandlersPage } from './handlers/handlers.tsx'
import { Jump } from './jump.tsx'
import { OverviewPage } from './overview/overview.tsx'
import { ReplaysPage } from './replays/replays.tsx'
import { useIsOperator } from './role.ts'
import { SystemPage } from './system/system.tsx'
import './console.css'

export function Pages({ onSignedOut }: { readonly onSignedOut: () => void }) {
  const overview = useGet<OverviewJson>('/overview').data
  const handlers = useGet<HandlerListJson>('/handlers').data
  const nav = navOf(overview, handlers)
  useHotkeys([['/', () => document.querySelector<HTMLElement>('[data-search]')?.focus()]])
  return (
    <Shell
      name="onchain-inbox"
      nav={nav}
      tools={
        <>
          <Jump pages={nav} handlers={handlers?.data ?? []} />
          <LiveState isPaused={overview?.paused === true} />
        </>
      }
      end={<SessionEnd overview={overview} onSignedOut={onSignedOut} />}
    >
      <Switch>
        <Route path="/" component={OverviewPage} />
        <Route path="/events" component={EventsPage} />
        <Route path="/events/:id">{({ id }) => <EventPage key={id} id={id} />}</Route>
        <Route path="/dead-letters" component={DeadLettersPage} />
        <Route path="/handlers" component={HandlersPage} />
        <Route path="/deliveries/:tab?">{({ tab }) => <DeliveriesPage tab={tab} />}</Route>
        <Route path="/replays" component={ReplaysPage} />
        <Route path="/system/:tab?">{({ tab }) => <SystemPage tab={tab} />}</Route>
        <Route>
          <Page title="Not found">
            <Empty title="There is no page here">
              <Link href="/">Overview</Link>
            </Empty>
          </Page>
        </Route>
      </Switch>
    </Shell>
  )
}

function navOf(overview: OverviewJson | undefined, handlers: HandlerListJson | undefined): readonly NavLink[] {
  const openBreakers = handlers?.data.filter(({ shut }) => shut?.reason === 'breaker').length ?? 0
  const badge = (count: number | undefined, label: string, tone: 'bad' | 'warning' = 'bad') => ({
    badge: { count: count ?? 0, label, tone },
  })
  return [
    { label: 'Overview', path: '/' },
    { label: 'Events', path: '/events' },
    { label: 'Dead letters', path: '/dead-letters', ...badge(overview?.dead_letters, 'dead letters') },
    { label: 'Handlers', path: '/handlers', ...badge(openBreakers, 'open breakers') },
    { label: 'Deliveries', path: '/deliveries', ...badge(overview?.quarantined, 'in quarantine', 'warning') },
    { label: 'Replays', path: '/replays' },
    { label: 'System', path: '/system' },
  ]
}

function LiveState({ isPaused }: { readonly isPaused: boolean }) {
  const isLive = useIsLive()
  return (
    <span role="status">
      {isPaused ? (
        <Status tone="warning">Handlers paused</Status>
      ) : (
        <Status tone={isLive ? 'good' : 'warning'}>{isLive ? 'Live' : 'Reconnecting'}</Status>
      )}
    </span>
  )
}

interface SessionEndProps {
  readonly overview: OverviewJson | undefined
  readonly onSignedOut: () => void
}

function SessionEnd({ overview, onSignedOut }: SessionEndProps) {
  const api = useApi()
  const role = useIsOperator() ? 'operator' : 'viewer'
  const { version, now, started_at: startedAt } = overview ?? {}
  return (
    <>
      <Button variant="default" onClick={() => void api.send('DELETE', '/session').finally(onSignedOut)}>
        Sign out
      </Button>
      <span>
        {version !== undefined && `v${version} · `}
        {role}
        {now && startedAt && ` · up ${formatDuration(Math.max(0, Date.parse(now) - Date.parse(startedAt)))}`}
      </span>
    </>
  )
}
