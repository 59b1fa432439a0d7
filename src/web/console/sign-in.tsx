import { Button, PasswordInput } from '@mantine/core'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useApi } from '../ui/api.tsx'
import { Failure } from '../ui/states.tsx'
import type { SessionJson } from './contract.ts'

export interface SignInProps {
  /** True after a session has expired or was ended elsewhere. */
  readonly hasEnded: boolean
  readonly onSignedIn: () => void
}

/** Exchanges a token for a session cookie. */
export function SignIn({ hasEnded, onSignedIn }: SignInProps) {
  const api = useApi()
  const [token, setToken] = useState('')
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    document.title = 'Sign in – Inbox'
  }, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    api.send<SessionJson>('POST', '/session', { token: token.trim() }).then(onSignedIn, (thrown: Error) => {
      setBusy(false)
      setError(thrown)
    })
  }
  return (
    <main className="ui-center">
      <form className="ui-panel ui-sign-in" onSubmit={submit} aria-label="Sign in">
        <h1>onchain-inbox</h1>
        {hasEnded && <p role="status">Your session has ended. Sign in again.</p>}
        <PasswordInput
          label="Token"
          description={
            <>
              <code>INBOX_ADMIN_TOKEN</code>, or the content of <code>&lt;database&gt;.admin-token</code>. A viewer’s
              token shows everything and changes nothing.
            </>
          }
          autoComplete="current-password"
          maxLength={1_024}
          required
          withAsterisk={false}
          autoFocus
          visibilityToggleButtonProps={{ 'aria-label': 'Show token', tabIndex: 0 }}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Failure error={error} />
        <Button type="submit" size="sm" loading={isBusy} disabled={token.trim() === ''}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
