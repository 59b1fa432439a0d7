import { Button, Modal, TextInput } from '@mantine/core'
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react'
import { useApi, useAction, type Api } from './api.tsx'
import { Failure, Skeleton } from './states.tsx'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog. It doesn't lock scrolling, which would insert a `<style>` element. */
export function Dialog({ title, isOpen, onClose, children }: DialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={title}
      lockScroll={false}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className="ui-stack">{children}</div>
    </Modal>
  )
}

export interface Asked {
  readonly api: Api
  /** Trimmed; empty unless `needsReason`. */
  readonly reason: string
}

export interface ActionProps {
  readonly label: string
  /** For screen readers, where the label doesn't name the object. */
  readonly name?: string
  /** Question of the dialog: `Pause ledger?`. */
  readonly title: string
  /** Consequences. */
  readonly children: ReactNode
  readonly isDangerous?: boolean
  readonly isPrimary?: boolean
  readonly needsReason?: boolean
  /** Counts what the action would affect, before it can be confirmed. A count of 0 can't be. */
  readonly preview?: (asked: Asked) => Promise<Counted>
  /** The returned text is shown once done; without one the dialog closes. */
  readonly run: (asked: Asked) => Promise<string | void>
}

export interface Counted {
  readonly count: number
  readonly text: string
}

/** A button whose action is confirmed in a dialog, which shows why it failed. */
export function Action(props: ActionProps) {
  const { label, name = label, isDangerous = false, isPrimary = false } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        variant={isPrimary ? 'filled' : 'default'}
        {...(isDangerous && { className: 'ui-danger' })}
        aria-label={name}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      <Dialog title={props.title} isOpen={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <Question {...props} onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}

function Question({
  label,
  children,
  isDangerous,
  needsReason = false,
  preview,
  run,
  onClose,
}: ActionProps & { readonly onClose: () => void }) {
  const api = useApi()
  const [reason, setReason] = useState('')
  const [counted, setCounted] = useState<Counted | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  const action = useAction(() => run({ api, reason: reason.trim() }))
  const count = () => {
    setFailure(null)
    preview?.({ api, reason: 'preview' }).then(setCounted, setFailure)
  }
  useEffect(count, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    action.mutate(undefined, { onSuccess: (text) => text === undefined && onClose() })
  }
  if (typeof action.data === 'string')
    return (
      <>
        <p role="status">{action.data}</p>
        <div className="ui-dialog-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </div>
      </>
    )
  return (
    <form className="ui-stack" onSubmit={submit}>
      <div>{children}</div>
      {preview !== undefined && counted === null && failure === null && <Skeleton rows={1} />}
      {counted !== null && <p role="status">{counted.text}</p>}
      {needsReason && (
        <TextInput
          label="Reason"
          description="Kept in the audit"
          maxLength={500}
          data-autofocus
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      )}
      <Failure error={failure} onRetry={count} />
      <Failure error={action.error} />
      <div className="ui-dialog-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          type="submit"
          {...(isDangerous && { color: 'red' })}
          {...(!needsReason && { 'data-autofocus': true })}
          loading={action.isPending}
          disabled={(needsReason && reason.trim() === '') || (preview !== undefined && !((counted?.count ?? 0) > 0))}
        >
          {label}
        </Button>
      </div>
    </form>
  )
}
