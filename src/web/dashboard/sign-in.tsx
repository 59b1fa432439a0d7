import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useEffect, useState, type SubmitEvent } from 'react'
import { useApi } from '../ui/api.tsx'
import { Failure } from '../ui/states.tsx'
import type { Session } from './contract.ts'

export interface SignInProps {
  /** The published login of the demo; null if the login is private. */
  readonly demo: Session['demo']
  readonly onSignedIn: () => void
}

/** Exchanges user and password for a session cookie (A65). The demo's login is filled in. */
export function SignIn({ demo, onSignedIn }: SignInProps) {
  const api = useApi()
  const [user, setUser] = useState(demo?.user ?? '')
  const [password, setPassword] = useState(demo?.password ?? '')
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    document.title = 'Sign in – Emulator'
  }, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    api.send('POST', '/session', { user, password }).then(onSignedIn, (thrown: Error) => {
      setBusy(false)
      setError(thrown)
    })
  }
  return (
    <main className="ui-center">
      <form className="ui-panel dash-sign-in" onSubmit={submit} aria-label="Sign in">
        <h1>Emulator</h1>
        {demo !== null && <p>This is the demo: its published login is filled in.</p>}
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
          visibilityToggleButtonProps={{ 'aria-label': 'Show password', tabIndex: 0 }}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Failure error={error} />
        <Button type="submit" size="sm" loading={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
