import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useApiClient, type Api } from '../ui/api.ts'
import { useLocation } from '../ui/hash-router.ts'
import { Shell } from '../ui/shell.tsx'
import { createStream, type Stream } from '../ui/stream.ts'
import { useAct } from '../ui/use-act.ts'
import { StreamContext } from '../ui/use-stream.ts'
import { base } from './api-client.ts'
import type { Session } from './contract.ts'
import { ClockReadout } from './parts/clock-readout.tsx'
import { nav, pageAt } from './routes.tsx'

export interface SignedInProps {
  readonly user: string
  readonly onSignedOut: () => void
}

/** The pages, with one stream for all of them. */
export function SignedIn({ user, onSignedOut }: SignedInProps) {
  const api = useApiClient()
  const { path } = useLocation()
  const { run, isBusy } = useAct()
  const stream = useOwnStream(api, onSignedOut)
  const page = pageAt(path)

  useEffect(() => {
    document.title = `${page.title} – Emulator`
  }, [page.title])

  const signOut = () =>
    void run(async () => {
      await api.send('DELETE', '/session')
      onSignedOut()
    })

  return (
    <StreamContext value={stream}>
      <Shell
        name="Emulator"
        nav={nav}
        path={path}
        barLabel="World time and session"
        bar={
          <>
            <ClockReadout />
            <div className="ui-row">
              <span className="ui-dimmed">{user}</span>
              <Button size="xs" variant="default" loading={isBusy} onClick={signOut}>
                Sign out
              </Button>
            </div>
          </>
        }
      >
        {page.element}
      </Shell>
    </StreamContext>
  )
}

/** The stream of this session. Where it breaks off, the session may be over: that is asked for. */
function useOwnStream(api: Api, onSignedOut: () => void): Stream | null {
  const [stream, setStream] = useState<Stream | null>(null)
  useEffect(() => {
    const opened = createStream(`${base}/stream?types=event,attempt,clock`, ['event', 'attempt', 'clock'])
    let wasOpen = false
    opened.onState((isOpen) => {
      if (wasOpen && !isOpen) {
        const check = ({ signedIn }: Session) => signedIn || onSignedOut()
        // An emulator that does not answer has not ended the session.
        api.get<Session>('/session').then(check, () => {})
      }
      wasOpen = isOpen
    })
    setStream(opened)
    return () => opened.close()
  }, [api, onSignedOut])
  return stream
}
