import { Modal } from '@mantine/core'
import type { ReactNode } from 'react'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog that Escape closes. It does not lock the scrolling behind it, since that would put a style tag into the page. */
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
      {children}
    </Modal>
  )
}
