import { Button, Modal } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { useApi } from './api.tsx'
import { Form, type Field, type Filled, type FormProps } from './form.tsx'
import { Loaded } from './states.tsx'

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

export interface Asked extends Filled {
  /** Trimmed; empty unless `needsReason`. */
  readonly reason: string
}

export interface ActionProps extends Pick<FormProps, 'fields' | 'isDangerous'> {
  readonly label: string
  /** For screen readers, where the label doesn't name the object. */
  readonly name?: string
  /** Of the dialog: `Pause ledger?`. Default: the name. */
  readonly title?: string
  /** Of the dialog's button. Default: the label. */
  readonly submit?: string
  /** Consequences. */
  readonly children?: ReactNode
  readonly isPrimary?: boolean
  readonly needsReason?: boolean
  /** Counts what the action would affect, before it can be confirmed. A count of 0 can't be. */
  readonly preview?: (asked: Asked) => Promise<Counted>
  /** The returned value is shown once done; without one the dialog closes. */
  readonly run: (asked: Asked) => Promise<ReactNode | void>
}

export interface Counted {
  readonly count: number
  readonly text: string
}

/** A button whose action is filled in and confirmed in a dialog, which shows why it failed. */
export function Action(props: ActionProps) {
  const { label, name = label, title = name, isDangerous = false, isPrimary = false } = props
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button
        variant={isPrimary ? 'filled' : 'default'}
        {...(isDangerous && { c: 'var(--ui-bad)' })}
        aria-label={name}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={close}>
        {isOpen && <Question {...props} onClose={close} />}
      </Dialog>
    </>
  )
}

const reasonField: Field = { name: 'reason', label: 'Reason', description: 'Kept in the audit' }

function Question(props: ActionProps & { readonly onClose: () => void }) {
  const {
    label,
    submit = label,
    children,
    fields = [],
    isDangerous = false,
    needsReason = false,
    preview,
    run,
    onClose,
  } = props
  const api = useApi()
  const [result, setResult] = useState<ReactNode>(null)
  const {
    data: counted,
    error,
    mutate: count,
  } = useMutation({
    mutationFn: async () => preview?.({ api, value: () => '', reason: 'preview' }),
  })
  useEffect(() => {
    if (preview !== undefined) count()
  }, [])
  if (result !== null)
    return (
      <>
        <div role="status">{result}</div>
        <div className="ui-row ui-bar-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </div>
      </>
    )
  return (
    <>
      <div>{children}</div>
      {preview !== undefined && (
        <Loaded query={{ data: counted, error, refetch: count }} rows={1}>
          {({ text }) => <p role="status">{text}</p>}
        </Loaded>
      )}
      <Form
        fields={needsReason ? [reasonField] : fields}
        submit={submit}
        isDangerous={isDangerous}
        isBlocked={preview !== undefined && !counted?.count}
        run={({ api: own, value }) => run({ api: own, value, reason: value('reason') })}
        onDone={(done) => (done === null ? onClose() : setResult(done))}
        onCancel={onClose}
      />
    </>
  )
}
