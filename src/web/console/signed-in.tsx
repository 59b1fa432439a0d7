import { ActionIcon, Button } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { useApiClient, type Api } from '../ui/api.ts'
import { useLocation } from '../ui/hash-router.ts'
import { Icon } from '../ui/icons.tsx'
import { Shell } from '../ui/shell.tsx'
import { ShortcutsDialog } from '../ui/shortcuts-dialog.tsx'
import { createShortcuts, ShortcutsContext, useShortcuts } from '../ui/shortcuts.ts'
import { ErrorState } from '../ui/states.tsx'
import { StatusBadge } from '../ui/status-badge.tsx'
import { createStream, type Stream } from '../ui/stream.ts'
import { useAct } from '../ui/use-act.ts'
import { StreamContext } from '../ui/use-stream.ts'
import { base } from './api-client.ts'
import type { StreamKind } from './contract.ts'
import { Connection } from './parts/connection.tsx'
import { keepTrail } from './parts/event-trail.ts'
import { frameKeys } from './parts/keys.ts'
import { OverviewContext, useOwnOverview } from './parts/overview.ts'
import { useRole } from './parts/role.ts'
import { navOf, pageAt } from './routes.tsx'

/** The pages, with one stream and one set of shortcuts for all of them. */
export function SignedIn({ onSignedOut }: { readonly onSignedOut: () => void }) {
  const stream = useOwnStream(useApiClient())
  const shortcuts = useMemo(createShortcuts, [])
  useEffect(() => {
    window.addEventListener('keydown', shortcuts.press)
    return () => {
      window.removeEventListener('keydown', shortcuts.press)
      keepTrail(null)
    }
  }, [shortcuts])
  return (
    <StreamContext value={stream}>
      <ShortcutsContext value={shortcuts}>
        <Frame onSignedOut={onSignedOut} />
      </ShortcutsContext>
    </StreamContext>
  )
}

function Frame({ onSignedOut }: { readonly onSignedOut: () => void }) {
  const { path } = useLocation()
  const known = useOwnOverview()
  const { overview } = known
  const page = pageAt(path)

  useEffect(() => {
    document.title = `${page.title} – Inbox`
  }, [page.title])

  return (
    <OverviewContext value={known}>
      <Shell
        name="Inbox"
        nav={navOf(overview)}
        path={path}
        barLabel="Connection and session"
        bar={
          <>
            <div className="ui-row">
              <Connection />
              {overview?.paused === true && <StatusBadge status="all handlers paused" tone="warning" />}
            </div>
            <SessionBar onSignedOut={onSignedOut} />
          </>
        }
      >
        {page.element}
      </Shell>
    </OverviewContext>
  )
}

function SessionBar({ onSignedOut }: { readonly onSignedOut: () => void }) {
  const api = useApiClient()
  const role = useRole()
  const { run, isBusy, error } = useAct()
  const signOut = () =>
    void run(async () => {
      await api.send('DELETE', '/session')
      onSignedOut()
    })
  return (
    <div className="ui-row">
      <ErrorState error={error} />
      <ShortcutsButton />
      <StatusBadge status={role} tone={role === 'operator' ? 'info' : 'neutral'} />
      <Button size="xs" variant="default" loading={isBusy} onClick={signOut}>
        Sign out
      </Button>
    </div>
  )
}

function ShortcutsButton() {
  const [isOpen, setOpen] = useState(false)
  const open = () => setOpen(true)
  useShortcuts(frameKeys(open))
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={open}
      >
        <Icon name="keyboard" />
      </ActionIcon>
      <ShortcutsDialog isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  )
}

const kinds: readonly StreamKind[] = ['events', 'overview', 'changed']

/** The stream of this session. Where it breaks off, the session may be over: then the API says so when it is asked. */
function useOwnStream(api: Api): Stream | null {
  const [stream, setStream] = useState<Stream | null>(null)
  useEffect(() => {
    const opened = createStream(`${base}/stream?kinds=${kinds.join(',')}`, kinds)
    let wasOpen = false
    opened.onState((isOpen) => {
      // An inbox that does not answer has not ended the session.
      if (wasOpen && !isOpen) api.get('/session').catch(() => {})
      wasOpen = isOpen
    })
    setStream(opened)
    return () => opened.close()
  }, [api])
  return stream
}
