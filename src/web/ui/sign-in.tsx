import { useEffect, type ReactNode } from 'react'
import { Form, type Field, type ValueOf } from './form.tsx'

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
