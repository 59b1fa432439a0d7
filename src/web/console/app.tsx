import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState, type ReactNode } from 'react'
import { ApiError, ApiProvider, createApi, useGet } from '../ui/api.tsx'
import { Live, useLive } from '../ui/live.tsx'
import { Failure, Skeleton } from '../ui/states.tsx'
import type { OverviewJson } from '../../admin/overview.ts'
import type { SessionJson } from '../../admin/session.ts'
import type { ChangedMessageJson, StreamKind } from '../../admin/stream.ts'
import { Pages } from './pages.tsx'
import { RoleContext } from './role.ts'
import { SignIn } from './sign-in.tsx'

const base = './api/v1'
const kinds: readonly StreamKind[] = ['events', 'overview', 'changed']

/** The sign-in, or the pages. Returns to the sign-in when the session ends. */
export function App() {
  // A new key drops everything that the previous session has read.
  const [session, setSession] = useState({ key: 0, hasEnded: false })
  const end = useCallback((hasEnded: boolean) => setSession(({ key }) => ({ key: key + 1, hasEnded })), [])
  const api = useMemo(() => createApi({ base, server: 'The inbox', onSignedOut: () => end(true) }), [end])
  return (
    <ApiProvider key={session.key} api={api}>
      <Session hasEnded={session.hasEnded} onSignedIn={() => end(false)} onSignedOut={() => end(false)} />
    </ApiProvider>
  )
}

interface SessionProps {
  readonly hasEnded: boolean
  readonly onSignedIn: () => void
  readonly onSignedOut: () => void
}

function Session({ hasEnded, onSignedIn, onSignedOut }: SessionProps) {
  const { data, error, refetch } = useGet<SessionJson>('/session')
  if (data !== undefined)
    return (
      <RoleContext value={data.role}>
        <Live url={`${base}/stream?kinds=${kinds.join()}`} kinds={kinds}>
          <LiveUpdates>
            <Pages onSignedOut={onSignedOut} />
          </LiveUpdates>
        </Live>
      </RoleContext>
    )
  if (error instanceof ApiError && error.status === 401) return <SignIn hasEnded={hasEnded} onSignedIn={onSignedIn} />
  return (
    <main className="ui-center">
      {error === null ? <Skeleton rows={3} /> : <Failure error={error} onRetry={() => void refetch()} />}
    </main>
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
