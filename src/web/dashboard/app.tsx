import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState, type ReactNode } from 'react'
import { Link, Route, Switch } from 'wouter'
import { ApiProvider, createApi, useApi, useGet } from '../ui/api.tsx'
import { Live, useIsLive, useLive } from '../ui/live.tsx'
import { Page, Shell, type NavLink } from '../ui/shell.tsx'
import { Empty, Failure, Skeleton } from '../ui/states.tsx'
import { Status } from '../ui/status.tsx'
import { AccountPage } from './account.tsx'
import { AlertsPage } from './alerts.tsx'
import { ClockReadout } from './clock.tsx'
import type { DeliveryCounts, Session as SessionJson, WorldClock } from './contract.ts'
import { DeliveriesPage } from './deliveries/deliveries.tsx'
import { EventsPage } from './events.tsx'
import { FaultsPage } from './faults/faults.tsx'
import { OverviewPage } from './overview.tsx'
import { SignIn } from './sign-in.tsx'
import { TriggersPage } from './triggers.tsx'
import { useRefresh } from './use-refresh.ts'
import { WebhooksPage } from './webhooks.tsx'
import './dashboard.css'

const base = './_emulator'
const kinds = ['event', 'attempt', 'clock'] as const

/** Unwraps the envelope. A list becomes a page; its cursor is the id or number of the last row. */
function unwrap(body: unknown): unknown {
  const { data } = body as { readonly data: unknown }
  if (!Array.isArray(data)) return data
  const last = data.at(-1) as { readonly deliveryId?: string; readonly seq?: number } | undefined
  const next = last?.deliveryId ?? last?.seq
  return { data, next_cursor: data.length < pageSize || next === undefined ? null : String(next) }
}

/** Rows per page of lists that have a cursor. */
const pageSize = 100

/** The sign-in, or the pages. Returns to the sign-in when the session ends. */
export function App() {
  // A new key drops everything that the previous session has read.
  const [key, setKey] = useState(0)
  const restart = useCallback(() => setKey((before) => before + 1), [])
  const api = useMemo(() => createApi({ base, server: 'The emulator', unwrap, onSignedOut: restart }), [restart])
  return (
    <ApiProvider key={key} api={api}>
      <Session onChange={restart} />
    </ApiProvider>
  )
}

/** Time between two checks whether the session has ended. */
const sessionMs = 60_000

function Session({ onChange }: { readonly onChange: () => void }) {
  const { data, error, refetch } = useGet<SessionJson>('/session', { pollMs: sessionMs })
  if (data === undefined)
    return (
      <main className="ui-center">
        {error === null ? <Skeleton rows={3} /> : <Failure error={error} onRetry={() => void refetch()} />}
      </main>
    )
  if (!data.signedIn) return <SignIn demo={data.demo} onSignedIn={onChange} />
  return (
    <Live url={`${base}/stream?types=${kinds.join()}`} kinds={kinds}>
      <LiveUpdates>
        <Pages user={data.user ?? ''} onSignedOut={onChange} />
      </LiveUpdates>
    </Live>
  )
}

function LiveUpdates({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient()
  useRefresh('attempt', /^\/(?:deliveries|faults$)/)
  useLive<WorldClock>('clock', (clock) => client.setQueryData(['/clock'], clock))
  return children
}

function Pages({ user, onSignedOut }: { readonly user: string; readonly onSignedOut: () => void }) {
  const api = useApi()
  const isLive = useIsLive()
  const undelivered = useGet<DeliveryCounts>('/deliveries/counts').data?.undelivered ?? 0
  return (
    <Shell
      name="Emulator"
      site="Emulator"
      nav={navOf(undelivered)}
      tools={
        <>
          <ClockReadout />
          <Status tone={isLive ? 'good' : 'warning'}>{isLive ? 'live' : 'reconnecting'}</Status>
        </>
      }
      end={
        <>
          <Button variant="default" onClick={() => void api.send('DELETE', '/session').finally(onSignedOut)}>
            Sign out
          </Button>
          <span>{user}</span>
        </>
      }
    >
      <Switch>
        <Route path="/" component={OverviewPage} />
        <Route path="/events" component={EventsPage} />
        <Route path="/deliveries" component={DeliveriesPage} />
        <Route path="/webhooks" component={WebhooksPage} />
        <Route path="/alerts" component={AlertsPage} />
        <Route path="/faults" component={FaultsPage} />
        <Route path="/triggers" component={TriggersPage} />
        <Route path="/account" component={AccountPage} />
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

function navOf(undelivered: number): readonly NavLink[] {
  return [
    { label: 'Overview', path: '/' },
    { label: 'Events', path: '/events' },
    {
      label: 'Deliveries',
      path: '/deliveries',
      badge: { count: undelivered, tone: 'bad', label: 'undelivered' },
    },
    { label: 'Webhooks', path: '/webhooks' },
    { label: 'Alerts', path: '/alerts' },
    { label: 'Faults', path: '/faults' },
    { label: 'Triggers', path: '/triggers' },
    { label: 'Account', path: '/account' },
  ]
}
