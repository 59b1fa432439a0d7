import { Anchor, Button, Group, TextInput } from '@mantine/core'
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react'
import { Dialog } from '../../ui/dialog.tsx'
import { formatCount } from '../../ui/format.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import './bulk.css'

/** What an act did, or would do. */
export interface BulkOutcome {
  /** How many it is about. */
  readonly count: number
  /** In a sentence or two. */
  readonly text: string
}

/** Something that is done to many things at once. */
export interface BulkAct {
  /** Of the dialog, as a question. */
  readonly title: string
  /** Which things, and what becomes of them. */
  readonly about: ReactNode
  /** On the button that does it, with the count after it. */
  readonly verb: string
  /** Whether it asks why: then it cannot be taken back. */
  readonly asksReason: boolean
  readonly run: (how: { readonly isDryRun: boolean; readonly reason: string }) => Promise<BulkOutcome>
}

export interface BulkDialogProps {
  /** Null: there is none. */
  readonly act: BulkAct | null
  readonly onClose: () => void
  /** After it was done. */
  readonly onDone: () => void
}

/** Counts first what an act is about, asks, does it, and says what was done. */
export function BulkDialog({ act, onClose, onDone }: BulkDialogProps) {
  const [done, setDone] = useState<BulkAct | null>(null)
  const finish = () => {
    setDone(act)
    onDone()
  }
  return (
    <Dialog title={act === done ? 'Done' : (act?.title ?? '')} isOpen={act !== null} onClose={onClose}>
      {act !== null && <BulkForm act={act} onClose={onClose} onDone={finish} />}
    </Dialog>
  )
}

/** The server asks for a reason with a drop even where it only counts. */
const countingReason = 'dry run'
const mostReason = 500

function BulkForm({ act, onClose, onDone }: BulkDialogProps & { readonly act: BulkAct }) {
  const [reason, setReason] = useState('')
  const [counted, setCounted] = useState<BulkOutcome | null>(null)
  const [done, setDone] = useState<BulkOutcome | null>(null)
  const { run, isBusy, error } = useAct()
  const count = () => void run(async () => setCounted(await act.run({ isDryRun: true, reason: countingReason })))
  // Once, when it opens: what it is about does not change while it is open.
  useEffect(count, [])

  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (counted === null) return count()
    void run(async () => {
      setDone(await act.run({ isDryRun: false, reason: reason.trim() }))
      onDone()
    })
  }
  const canDo = counted !== null && counted.count > 0 && (!act.asksReason || reason.trim() !== '')

  return (
    <form className="ui-stack" onSubmit={submit}>
      {done === null && <div className="bulk-about">{act.about}</div>}
      <p role="status">{done?.text ?? counted?.text ?? (error === null ? 'Counting…' : '')}</p>
      {done === null && act.asksReason && (
        <TextInput
          label="Reason"
          description="It is kept in the audit."
          required
          withAsterisk={false}
          maxLength={mostReason}
          data-autofocus
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      )}
      <ErrorState error={error} />
      {done === null ? (
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {counted === null ? (
            <Button type="submit" loading={isBusy}>
              Count again
            </Button>
          ) : counted.count === 0 ? null : (
            <Button type="submit" {...(act.asksReason && { color: 'red' })} loading={isBusy} disabled={!canDo}>
              {act.verb} {formatCount(counted.count)}
            </Button>
          )}
        </Group>
      ) : (
        <Group justify="space-between">
          <Anchor href="#/audit">See the audit</Anchor>
          <Button onClick={onClose}>Close</Button>
        </Group>
      )}
    </form>
  )
}
