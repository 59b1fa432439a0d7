import { useCallback, useEffect, useMemo, useState } from 'react'
import { ApiContext } from '../ui/api.ts'
import { ErrorState, LoadingState } from '../ui/states.tsx'
import { createApi } from './api-client.ts'
import type { Session } from './contract.ts'
import { SignIn } from './sign-in.tsx'
import { SignedIn } from './signed-in.tsx'

/** The dashboard: the sign-in, then the pages; back to the sign-in whenever the session is over. */
export function App() {
  const [session, setSession] = useState<Session | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const onSignedOut = useCallback(
    () => setSession((before) => before && { ...before, signedIn: false, user: null }),
    [],
  )
  const api = useMemo(() => createApi(onSignedOut), [onSignedOut])

  const ask = useCallback(() => {
    setError(null)
    api.get<Session>('/session').then(setSession, setError)
  }, [api])
  useEffect(ask, [ask])

  if (session === null)
    return (
      <main className="ui-center">
        {error === null ? <LoadingState what="the emulator" /> : <ErrorState error={error} onRetry={ask} />}
      </main>
    )
  return (
    <ApiContext value={api}>
      {session.signedIn ? (
        <SignedIn user={session.user ?? ''} onSignedOut={onSignedOut} />
      ) : (
        <SignIn demo={session.demo} onSignedIn={(user) => setSession({ ...session, signedIn: true, user })} />
      )}
    </ApiContext>
  )
}
