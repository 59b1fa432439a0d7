import { mount } from '../ui/mount.tsx'
import { useThrottledCallback } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Route, Switch } from 'wouter'
import { useGet } from '../ui/api.tsx'
import { LiveState, useLive } from '../ui/live.tsx'
import { Session, SignIn } from '../ui/session.tsx'
import { NotFound, Shell, type NavLink } from '../ui/shell.tsx'
import { AccountPage } from './account.tsx'
import { AlertsPage } from './alerts.tsx'
import { ClockReadout } from './clock.tsx'
import type { DeliveryCounts, Session as SessionJson, WorldClock } from './contract.ts'
import { DeliveriesPage } from './deliveries/deliveries.tsx'
import { EventsPage } from './events.tsx'
import { FaultsPage } from './faults/faults.tsx'
import { OverviewPage } from './overview.tsx'
import { TriggersPage } from './triggers.tsx'
import { WebhooksPage } from './webhooks.tsx'

const kinds = ['event', 'attempt', 'clock'] as const

const pages = [
  { label: 'Overview', path: '/', page: OverviewPage },
  { label: 'Events', path: '/events', page: EventsPage },
  { label: 'Deliveries', path: '/deliveries', page: DeliveriesPage },
  { label: 'Webhooks', path: '/webhooks', page: WebhooksPage },
  { label: 'Alerts', path: '/alerts', page: AlertsPage },
  { label: 'Faults', path: '/faults', page: FaultsPage },
  { label: 'Triggers', path: '/triggers', page: TriggersPage },
  { label: 'Account', path: '/account', page: AccountPage },
] as const

/** Rows per page of lists that have a cursor. */
const pageSize = 100

/** Unwraps the envelope. A list becomes a page; its cursor is the id or number of the last row. */
function unwrap(body: unknown): unknown {
  const { data } = body as { readonly data: unknown }
  if (!Array.isArray(data)) return data
  const last = data.at(-1) as { readonly deliveryId?: string; readonly seq?: number } | undefined
  const next = last?.deliveryId ?? last?.seq
  return { data, next_cursor: data.length < pageSize || next === undefined ? null : String(next) }
}

export function App() {
  return (
    <Session<SessionJson>
      base="./_emulator"
      server="The emulator"
      unwrap={unwrap}
      stream={`/stream?types=${kinds.join()}`}
      kinds={kinds}
      pollMs={60_000}
      isSignedIn={({ signedIn }) => signedIn}
      signIn={({ session }) => <DemoSignIn demo={session?.demo ?? null} />}
    >
      {({ user }, signOut) => <Pages user={user ?? ''} signOut={signOut} />}
    </Session>
  )
}

/** Asks for user and password (A65). `demo`: the published login of the demo, which is filled in; null if the login is private. */
function DemoSignIn({ demo }: Pick<SessionJson, 'demo'>) {
  return (
    <SignIn
      name="Emulator"
      site="Emulator"
      note={demo !== null && <p>This is the demo: its published login is filled in.</p>}
      fields={[
        { name: 'user', label: 'User', autoComplete: 'username', initial: demo?.user ?? '' },
        {
          name: 'password',
          label: 'Password',
          autoComplete: 'current-password',
          isSecret: true,
          initial: demo?.password ?? '',
        },
      ]}
      toBody={(value) => ({ user: value('user'), password: value('password') })}
    />
  )
}

function Pages({ user, signOut }: { readonly user: string; readonly signOut: ReactNode }) {
  const client = useQueryClient()
  const count = useGet<DeliveryCounts>('/deliveries/counts').data?.undelivered ?? 0
  useRefresh('attempt', /^\/(?:deliveries|faults$)/)
  useRefresh('event', /^\/events/)
  useLive<WorldClock>('clock', (clock) => client.setQueryData(['/clock'], clock))
  return (
    <Shell
      name="Emulator"
      site="Emulator"
      nav={pages.map(({ label, path }): NavLink => ({
        label,
        path,
        ...(path === '/deliveries' && { badge: { count, tone: 'bad', label: 'undelivered' } }),
      }))}
      tools={
        <>
          <ClockReadout />
          <LiveState />
        </>
      }
      end={
        <>
          {signOut}
          <span>{user}</span>
        </>
      }
    >
      <Switch>
        {pages.map(({ path, page }) => (
          <Route key={path} path={path} component={page} />
        ))}
        <Route component={NotFound} />
      </Switch>
    </Shell>
  )
}

/** Minimum time between two reads of the same data. */
const refreshMs = 1_000

/** Reads the paths that match again when the stream sends a message of a kind. */
function useRefresh(kind: 'event' | 'attempt', paths: RegExp): void {
  const client = useQueryClient()
  const refresh = useThrottledCallback(() => {
    void client.invalidateQueries({ predicate: ({ queryKey: [path] }) => typeof path === 'string' && paths.test(path) })
  }, refreshMs)
  useLive(kind, refresh)
}

mount(<App />)
