import { Alert, Button, Group, TextInput } from '@mantine/core'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'

export interface SecretDialogProps {
  /** Null: there is nothing to show. */
  readonly value: string | null
  readonly title: string
  /** What the value is: `key`, `webhook secret`. */
  readonly what: string
  readonly onClose: () => void
}

/** Shows a value once (R68, R76): who closes the dialog has to have copied it. */
export function SecretDialog({ value, title, what, onClose }: SecretDialogProps) {
  return (
    <Dialog title={title} isOpen={value !== null} onClose={onClose}>
      <div className="ui-stack">
        <Alert color="yellow" variant="light" title="Copy it now">
          This {what} is shown this once and not shown again: who loses it has to make another.
        </Alert>
        <TextInput
          label={`The ${what}`}
          value={value ?? ''}
          readOnly
          classNames={{ input: 'ui-mono' }}
          onFocus={(event) => event.currentTarget.select()}
        />
        <Group justify="flex-end">
          <CopyButton value={value ?? ''} what={what} isLarge />
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </div>
    </Dialog>
  )
}
