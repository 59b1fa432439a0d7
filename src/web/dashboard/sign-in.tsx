import { Alert, Button, PasswordInput, TextInput } from '@mantine/core'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useApiClient } from '../ui/api.ts'
import { ErrorState } from '../ui/states.tsx'
import { useAct } from '../ui/use-act.ts'
import type { Session } from './contract.ts'

export interface SignInProps {
  readonly demo: Session['demo']
  readonly onSignedIn: (user: string) => void
}

/** Asks for user and password (A65); those of the demo are filled in, since they are published anyway. */
export function SignIn({ demo, onSignedIn }: SignInProps) {
  const api = useApiClient()
  const [user, setUser] = useState(demo?.user ?? '')
  const [password, setPassword] = useState(demo?.password ?? '')
  const { run, isBusy, error } = useAct()

  useEffect(() => {
    document.title = 'Sign in – Emulator'
  }, [])

  const signIn = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      const answer = await api.send<{ readonly user: string }>('POST', '/session', { user, password })
      onSignedIn(answer.user)
    })
  }

  return (
    <main className="ui-center">
      <form className="ui-panel" onSubmit={signIn} aria-label="Sign in">
        <div className="ui-page-head">
          <h1>Emulator</h1>
        </div>
        {demo !== null && (
          <Alert color="blue" variant="light" title="This is the demo">
            Its login is published with the program, and filled in below.
          </Alert>
        )}
        <TextInput
          label="User"
          autoComplete="username"
          required
          withAsterisk={false}
          value={user}
          onChange={(event) => setUser(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the password', tabIndex: 0 }}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <ErrorState error={error} />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
