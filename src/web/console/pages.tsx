import type { ReactNode } from 'react'
import { Route, Switch } from 'wouter'
import { useGet } from '../ui/api.tsx'
import { formatDuration } from '../ui/format.ts'
import { LiveState } from '../ui/live.tsx'
import { usePathEnd } from '../ui/router.tsx'
import { NotFound, Shell, type NavLink } from '../ui/shell.tsx'
import { Status } from '../ui/status.tsx'
import type { HandlerListJson } from '../../admin/handlers.ts'
import type { OverviewJson } from '../../admin/overview.ts'
import { DeadLettersPage } from './dead-letters.tsx'
import { DeliveriesPage } from './deliveries/deliveries.tsx'
import { EventPage } from './events/event.tsx'
import { EventsPage } from './events/events.tsx'
import { isFailing } from './handlers/handler.ts'
import { HandlersPage } from './handlers/handlers.tsx'
import { Jump, JumpButton } from './jump.tsx'
import { OverviewPage } from './overview/overview.tsx'
import { ReplaysPage } from './replays/replays.tsx'
import { useIsOperator } from './role.ts'
import { SystemPage } from './system/system.tsx'
import './console.css'

export function Pages({ signOut }: { readonly signOut: ReactNode }) {
  const overview = useGet<OverviewJson>('/overview').data
  const handlers = useGet<HandlerListJson>('/handlers', { pollMs: 15_000 }).data
  const nav = navOf(overview, handlers)
  const pathEnd = usePathEnd()
  return (
    <Shell
      name="onchain-inbox"
      nav={nav}
      tools={
        <>
          <JumpButton />
          {overview?.paused === true ? <Status tone="warning">Handlers paused</Status> : <LiveState />}
        </>
      }
      end={
        <>
          {signOut}
          <Process overview={overview} />
        </>
      }
    >
      <Jump pages={nav} handlers={handlers?.data ?? []} />
      <Switch>
        <Route path="/" component={OverviewPage} />
        <Route path="/events" component={EventsPage} />
        <Route path="/events/:id">
          <EventPage key={pathEnd} id={pathEnd} />
        </Route>
        <Route path="/dead-letters" component={DeadLettersPage} />
        <Route path="/handlers" component={HandlersPage} />
        <Route path="/deliveries/:tab?">{({ tab }) => <DeliveriesPage tab={tab} />}</Route>
        <Route path="/replays" component={ReplaysPage} />
        <Route path="/system/:tab?">{({ tab }) => <SystemPage tab={tab} />}</Route>
        <Route>
          <NotFound />
        </Route>
      </Switch>
    </Shell>
  )
}

function navOf(overview: OverviewJson | undefined, handlers: HandlerListJson | undefined): readonly NavLink[] {
  const failing = handlers?.data.filter(isFailing).length
  const badge = (count: number | undefined, label: string, tone: 'bad' | 'warning' = 'bad') => ({
    badge: { count: count ?? 0, label, tone },
  })
  return [
    { label: 'Overview', path: '/' },
    { label: 'Events', path: '/events' },
    { label: 'Dead letters', path: '/dead-letters', ...badge(overview?.dead_letters, 'dead letters') },
    { label: 'Handlers', path: '/handlers', ...badge(failing, 'failing handlers and sinks') },
    { label: 'Deliveries', path: '/deliveries', ...badge(overview?.quarantined, 'in quarantine', 'warning') },
    { label: 'Replays', path: '/replays' },
    { label: 'System', path: '/system' },
  ]
}

function Process({ overview }: { readonly overview: OverviewJson | undefined }) {
  const role = useIsOperator() ? 'operator' : 'viewer'
  const { version, now, started_at: startedAt } = overview ?? {}
  return (
    <span>
      {version !== undefined && `v${version} · `}
      {role}
      {now && startedAt && ` · up ${formatDuration(Math.max(0, Date.parse(now) - Date.parse(startedAt)))}`}
    </span>
  )
}
