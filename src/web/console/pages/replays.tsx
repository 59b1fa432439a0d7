import { Button } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../../ui/dialog.tsx'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { Page } from '../../ui/page.tsx'
import { queryOf } from '../api-client.ts'
import type { ReplayJson } from '../contract.ts'
import { useChanged, useList } from '../parts/bulk-list.ts'
import { ReplayForm } from '../parts/replays-form.tsx'
import { ReplayList } from '../parts/replays-list.tsx'
import { useRole } from '../parts/role.ts'

const pageSize = 50
const fieldNames = ['type', 'network', 'address', 'status', 'from', 'to', 'handler'] as const

/** Stored events that are run again. With `start=1` in the address the form is open, filled in with the rest of it. */
export function ReplaysPage() {
  const { query } = useLocation()
  const isOperator = useRole() === 'operator'
  const list = useList<ReplayJson>(`/replays${queryOf({ limit: pageSize })}`)
  useChanged('replays', list.reload)
  const [started, setStarted] = useState<ReplayJson | null>(null)
  const isStarting = isOperator && query.get('start') === '1'
  const close = () => goTo('/replays', { replace: true })

  return (
    <Page
      title="Replays"
      about="Stored events given to handlers again, with the bytes that came. Live events always go first."
      actions={isOperator && <Button onClick={() => goTo('/replays?start=1')}>Start a replay</Button>}
    >
      <div role="status">{started !== null && `Replay #${started.id} was started; the list says how far it is.`}</div>
      <ReplayList list={list} />
      <Dialog title="Start a replay" isOpen={isStarting} onClose={close}>
        {isStarting && (
          <ReplayForm
            initial={Object.fromEntries(fieldNames.map((name) => [name, query.get(name) ?? '']))}
            onClose={close}
            onStarted={(replay) => {
              setStarted(replay)
              list.reload()
              close()
            }}
          />
        )}
      </Dialog>
    </Page>
  )
}
