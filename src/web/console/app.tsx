import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLive } from '../ui/live.tsx'
import { Session } from '../ui/session.tsx'
import { SignIn } from '../ui/sign-in.tsx'
import type { OverviewJson } from '../../admin/overview.ts'
import type { SessionJson } from '../../admin/session.ts'
import type { ChangedMessageJson, StreamKind } from '../../admin/stream.ts'
import { TryResults } from './handlers/handler-actions.tsx'
import { Pages } from './pages.tsx'
import { RoleContext } from './role.ts'

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
            <TryResults>
              <Pages signOut={signOut} />
            </TryResults>
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
