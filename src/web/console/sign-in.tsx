import { Button, PasswordInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useAction } from '../ui/api.tsx'
import { Failure } from '../ui/states.tsx'
import type { SessionJson } from '../../admin/session.ts'

export interface SignInProps {
  /** True after a session has expired or was ended elsewhere. */
  readonly hasEnded: boolean
  readonly onSignedIn: () => void
}

/** Exchanges a token for a session cookie. */
export function SignIn({ hasEnded, onSignedIn }: SignInProps) {
  const [token, setToken] = useState('')
  const signIn = useAction((api) => api.send<SessionJson>('POST', '/session', { token: token.trim() }))
  useEffect(() => {
    document.title = 'Sign in – Inbox'
  }, [])
  return (
    <main className="ui-center">
      <form
        className="ui-panel ui-panel-body"
        aria-label="Sign in"
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate(undefined, { onSuccess: onSignedIn })
        }}
      >
        <h1>onchain-inbox</h1>
        {hasEnded && <p role="status">Your session has ended. Sign in again.</p>}
        <PasswordInput
          w={320}
          maw="100%"
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
        <Failure error={signIn.error} />
        <Button type="submit" size="sm" loading={signIn.isPending} disabled={token.trim() === ''}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
