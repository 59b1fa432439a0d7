import { Button } from '@mantine/core'
import { useCallback, useMemo, useState, type ReactNode, useEffect } from 'react'
import { ApiError, ApiProvider, createApi, useAction, useGet, type ApiOptions } from './api.tsx'
import { Live } from './live.tsx'
import { Failure, Skeleton } from './states.tsx'
import { Form, type Field, type ValueOf } from './form.tsx'

export interface SessionProps<S> extends Omit<ApiOptions, 'onSignedOut'> {
  /** Path of the API's stream. */
  readonly stream: string
  /** Names of the stream's messages. */
  readonly kinds: readonly string[]
  /** Time between two checks whether the session has ended. Default: none. */
  readonly pollMs?: number
  /** Default: every response but 401 is a session. */
  readonly isSignedIn?: (session: S) => boolean
  /** The sign-in page. `hasEnded`: true after a session has expired or was ended elsewhere. */
  readonly signIn: (state: { readonly session: S | undefined; readonly hasEnded: boolean }) => ReactNode
  readonly children: (session: S, signOut: ReactNode) => ReactNode
}

/** The sign-in, or the pages with their API and stream. Returns to the sign-in when the session ends. */
export function Session<S>(props: SessionProps<S>) {
  const { base, server, unwrap } = props
  const [{ key, hasEnded }, setState] = useState({ key: 0, hasEnded: false })
  // A new key drops everything that the previous session has read.
  const end = useCallback((ended: boolean) => setState((before) => ({ key: before.key + 1, hasEnded: ended })), [])
  const api = useMemo(
    () => createApi({ base, server, ...(unwrap && { unwrap }), onSignedOut: () => end(true) }),
    [base, server, unwrap, end],
  )
  return (
    <ApiProvider key={key} api={api}>
      <Content {...props} hasEnded={hasEnded} onSignedOut={() => end(false)} />
    </ApiProvider>
  )
}

interface ContentProps<S> extends SessionProps<S> {
  readonly hasEnded: boolean
  readonly onSignedOut: () => void
}

function Content<S>(props: ContentProps<S>) {
  const { base, stream, kinds, pollMs, isSignedIn = () => true, signIn, children, hasEnded, onSignedOut } = props
  const { data, error, refetch } = useGet<S>('/session', { ...(pollMs && { pollMs }) })
  const signOut = useAction((api) => api.send('DELETE', '/session'))
  if (data === undefined ? error instanceof ApiError && error.status === 401 : !isSignedIn(data))
    return signIn({ session: data, hasEnded })
  if (data === undefined)
    return (
      <main className="ui-center">
        {error === null ? <Skeleton rows={3} /> : <Failure error={error} onRetry={() => void refetch()} />}
      </main>
    )
  const button = (
    <Button variant="default" onClick={() => signOut.mutate(undefined, { onSettled: onSignedOut })}>
      Sign out
    </Button>
  )
  return (
    <Live url={base + stream} kinds={kinds}>
      {children(data, button)}
    </Live>
  )
}

export interface SignInProps {
  readonly name: string
  /** Ends the title of the page. */
  readonly site: string
  readonly note?: ReactNode
  readonly fields: readonly Field[]
  /** Body of the request for a session. */
  readonly toBody: (value: ValueOf) => object
}

/** Exchanges what the fields say for a session cookie. The session is then read again, like everything after an action. */
export function SignIn({ name, site, note, fields, toBody }: SignInProps) {
  useEffect(() => {
    document.title = `Sign in – ${site}`
  }, [site])
  return (
    <main className="ui-center">
      <section className="ui-panel ui-stack ui-panel-body">
        <h1>{name}</h1>
        {note}
        <Form
          submit="Sign in"
          fields={fields}
          run={async ({ api, value }) => void (await api.send('POST', '/session', toBody(value)))}
        />
      </section>
    </main>
  )
}
