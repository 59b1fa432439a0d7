import { useCallback, useEffect, useMemo, useState } from 'react'
import { ApiContext, ApiError } from '../ui/api.ts'
import { ErrorState, LoadingState } from '../ui/states.tsx'
import { createApi } from './api-client.ts'
import type { SessionJson } from './contract.ts'
import { ConsoleApiContext } from './parts/console-api.ts'
import { RoleContext } from './parts/role.ts'
import { SignIn } from './sign-in.tsx'
import { SignedIn } from './signed-in.tsx'

type State =
  | { readonly at: 'asking' }
  | { readonly at: 'signed in'; readonly session: SessionJson }
  /** `hasEnded`: a session was there and is over. */
  | { readonly at: 'signed out'; readonly hasEnded: boolean }

/** The console: the sign-in, then the pages; back to the sign-in whenever the session is over. */
export function App() {
  const [state, setState] = useState<State>({ at: 'asking' })
  const [error, setError] = useState<Error | null>(null)
  const onExpired = useCallback(
    () => setState((before) => (before.at === 'signed in' ? { at: 'signed out', hasEnded: true } : before)),
    [],
  )
  const api = useMemo(() => createApi(onExpired), [onExpired])

  const ask = useCallback(() => {
    setError(null)
    api.get<SessionJson>('/session').then(
      (session) => setState({ at: 'signed in', session }),
      (thrown: Error) => {
        if (thrown instanceof ApiError && thrown.status === 401) setState({ at: 'signed out', hasEnded: false })
        else setError(thrown)
      },
    )
  }, [api])
  useEffect(ask, [ask])

  if (state.at === 'asking')
    return (
      <main className="ui-center">
        {error === null ? <LoadingState what="the inbox" /> : <ErrorState error={error} onRetry={ask} />}
      </main>
    )
  return (
    <ApiContext value={api}>
      <ConsoleApiContext value={api}>
        {state.at === 'signed in' ? (
          <RoleContext value={state.session.role}>
            <SignedIn onSignedOut={() => setState({ at: 'signed out', hasEnded: false })} />
          </RoleContext>
        ) : (
          <SignIn hasEnded={state.hasEnded} onSignedIn={(session) => setState({ at: 'signed in', session })} />
        )}
      </ConsoleApiContext>
    </ApiContext>
  )
}
