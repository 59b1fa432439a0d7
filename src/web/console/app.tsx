import { mount } from '../ui/mount.tsx'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLive, LiveState } from '../ui/live.tsx'
import { Session, SignIn } from '../ui/session.tsx'
import type { OverviewJson } from '../../admin/overview.ts'
import type { SessionJson } from '../../admin/session.ts'
import type { ChangedMessageJson, StreamKind } from '../../admin/stream.ts'
import { RoleContext, useIsOperator } from './role.ts'
import { Route, Switch } from 'wouter'
import { useGet } from '../ui/api.tsx'
import { formatDuration } from '../ui/format.ts'
import { usePathEnd } from '../ui/router.tsx'
import { NotFound, Shell, type NavLink } from '../ui/shell.tsx'
import { Status } from '../ui/status.tsx'
import type { HandlerListJson } from '../../admin/handlers.ts'
import { DeadLettersPage } from './dead-letters.tsx'
import { DeliveriesPage } from './deliveries/deliveries.tsx'
import { EventPage } from './events/event.tsx'
import { EventsPage } from './events/events.tsx'
import { isFailing } from './handlers/handler.ts'
import { HandlersPage } from './handlers/handlers.tsx'
import { Jump, JumpButton } from './jump.tsx'
import { OverviewPage } from './overview/overview.tsx'
import { ReplaysPage } from './replays/replays.tsx'
import { SystemPage } from './system/system.tsx'
import './console.css'

const kinds: readonly StreamKind[] = ['events', 'overview', 'changed']

export function App() {
  return (
    <Session<SessionJson>
      base="./api/v1"
      server="The inbox"
      stream={`/stream?kinds=${kinds.join()}`}
      kinds={kinds}
      signIn={({ hasEnded }) => <TokenSignIn hasEnded={hasEnded} />}
    >
      {({ role }, signOut) => (
        <RoleContext value={role}>
          <LiveUpdates>
            <Pages signOut={signOut} />
          </LiveUpdates>
        </RoleContext>
      )}
    </Session>
  )
}

/** `hasEnded`: true after a session has expired or was ended elsewhere. */
function TokenSignIn({ hasEnded }: { readonly hasEnded: boolean }) {
  return (
    <SignIn
      name="onchain-inbox"
      site="Inbox"
      note={hasEnded && <p role="status">Your session has ended. Sign in again.</p>}
      fields={[
        {
          name: 'token',
          label: 'Token',
          description: (
            <>
              <code>INBOX_ADMIN_TOKEN</code>, or the content of <code>&lt;database&gt;.admin-token</code>. A viewer’s
              token shows everything and changes nothing.
            </>
          ),
          autoComplete: 'current-password',
          isSecret: true,
        },
      ]}
      toBody={(value) => ({ token: value('token').trim() })}
    />
  )
}

/** Paths to read again when the stream reports a change. */
const pathsOf: Readonly<Record<ChangedMessageJson['what'][number], readonly string[]>> = {
  handlers: ['/handlers', '/events/'],
  'dead-letters': ['/dead-letters'],
  quarantine: ['/quarantine'],
  replays: ['/replays', '/events/'],
  rejects: ['/rejects'],
  health: ['/health', '/secrets', '/drift', '/replicas'],
  audit: ['/audit'],
}

function LiveUpdates({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient()
  useLive<OverviewJson>('overview', (data) => client.setQueryData(['/overview'], data))
  useLive<ChangedMessageJson>('changed', ({ what }) => {
    const paths = what.flatMap((name) => pathsOf[name])
    void client.invalidateQueries({
      predicate: ({ queryKey: [path] }) => typeof path === 'string' && paths.some((one) => path.startsWith(one)),
    })
  })
  return children
}

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
          {overview?.paused === true && <Status tone="warning">Handlers paused</Status>}
          <LiveState />
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

mount(<App />)
