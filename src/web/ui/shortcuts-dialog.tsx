import { Fragment } from 'react'
import { Dialog } from './dialog.tsx'
import { useShortcutList } from './shortcuts.ts'

export interface ShortcutsDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** The list of the shortcuts that hold on this page. */
export function ShortcutsDialog({ isOpen, onClose }: ShortcutsDialogProps) {
  const shortcuts = useShortcutList()
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isOpen} onClose={onClose}>
      <dl className="ui-keys">
        {[...shortcuts, ...always].map(({ keys, label }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key, index) => (
                <Fragment key={key}>
                  {index > 0 && ' then '}
                  <kbd>{key}</kbd>
                </Fragment>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <p className="ui-dimmed ui-note">They rest while you type, and while a dialog is open.</p>
    </Dialog>
  )
}

/** What browser and dialogs do by themselves. */
const always = [
  { keys: 'Enter', label: 'Open what has the focus' },
  { keys: 'Esc', label: 'Close a dialog, leave a field' },
]
