import { Alert, Button, PasswordInput } from '@mantine/core'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useApiClient } from '../ui/api.ts'
import { formatCount } from '../ui/format.ts'
import { ErrorState } from '../ui/states.tsx'
import { useAct } from '../ui/use-act.ts'
import type { SessionJson } from './contract.ts'

export interface SignInProps {
  /** Whether a session was there and is over. */
  readonly hasEnded: boolean
  readonly onSignedIn: (session: SessionJson) => void
}

/** Asks for the token of an operator or a viewer; the browser gets a session for it and forgets the token. */
export function SignIn({ hasEnded, onSignedIn }: SignInProps) {
  const api = useApiClient()
  const [token, setToken] = useState('')
  const { run, isBusy, error } = useAct()

  useEffect(() => {
    document.title = 'Sign in – Inbox'
  }, [])

  const signIn = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => onSignedIn(await api.send<SessionJson>('POST', '/session', { token: checked(token) })))
  }

  return (
    <main className="ui-center">
      <form className="ui-panel" onSubmit={signIn} aria-label="Sign in">
        <div className="ui-page-head">
          <h1>Inbox</h1>
        </div>
        {hasEnded && (
          <Alert color="yellow" variant="light" role="status" title="Your session has ended">
            Sign in again to go on where you were.
          </Alert>
        )}
        <PasswordInput
          label="Token"
          description={
            <>
              <code>INBOX_ADMIN_TOKEN</code>, or the file <code>&lt;database&gt;.admin-token</code> beside the database;{' '}
              <code>npm start</code> prints that of the demo
            </>
          }
          autoComplete="current-password"
          required
          withAsterisk={false}
          autoFocus
          visibilityToggleButtonProps={{ 'aria-label': 'Show the token', tabIndex: 0 }}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <p className="ui-dimmed ui-note">
          With the token of an operator everything can be done; with that of a viewer all can be seen and nothing
          changed.
        </p>
        <ErrorState error={error} />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}

const longestToken = 1_024

/** The token as it is sent. Throws for what none can be. */
function checked(typed: string): string {
  const token = typed.trim()
  if (token === '') throw new Error('Give a token: there are only blanks.')
  if (token.length > longestToken)
    throw new Error(
      `A token has at most ${formatCount(longestToken)} characters, and this has ${formatCount(token.length)}.`,
    )
  return token
}
