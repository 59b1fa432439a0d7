import { Button, Group, type ButtonProps } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { Dialog } from './dialog.tsx'
import { ErrorState } from './states.tsx'
import { useAct } from './use-act.ts'

export interface ConfirmButtonProps {
  /** On the button. */
  readonly label: string
  /** For who hears it, where the label alone does not say of what. */
  readonly name?: string
  /** Of the dialog, as a question. */
  readonly title: string
  /** What will happen. */
  readonly children: ReactNode
  /** On the button of the dialog that does it. */
  readonly verb: string
  readonly onConfirm: () => Promise<unknown>
  readonly isDangerous?: boolean
  readonly size?: ButtonProps['size']
  readonly isDisabled?: boolean
}

/** A button that asks first. The dialog stays until it is done, and shows why it was not. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const {
    label,
    name = label,
    title,
    children,
    verb,
    onConfirm,
    isDangerous = true,
    size = 'xs',
    isDisabled = false,
  } = props
  const [isOpen, setOpen] = useState(false)
  const { run, isBusy, error, clear } = useAct()
  const close = () => {
    setOpen(false)
    clear()
  }
  const confirm = () =>
    void run(async () => {
      await onConfirm()
      setOpen(false)
    })
  return (
    <>
      <Button
        size={size}
        variant={isDangerous ? 'light' : 'filled'}
        {...(isDangerous && { color: 'red' })}
        aria-label={name}
        disabled={isDisabled}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={close}>
        <div className="ui-stack">
          <div>{children}</div>
          <ErrorState error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button {...(isDangerous && { color: 'red' })} loading={isBusy} onClick={confirm} data-autofocus>
              {verb}
            </Button>
          </Group>
        </div>
      </Dialog>
    </>
  )
}
