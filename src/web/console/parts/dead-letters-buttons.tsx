import { Button } from '@mantine/core'
import { useApiClient } from '../../ui/api.ts'
import type { BulkAct } from './bulk-dialog.tsx'
import { dropAct, requeueAct, type WhichLetters } from './dead-letters-acts.ts'
import { useRole } from './role.ts'

export interface LetterButtonsProps {
  readonly which: WhichLetters
  /** Which they are, after “the dead letters”. */
  readonly of: string
  /** After the verb on the buttons, as `all`. */
  readonly noun: string
  readonly onAct: (act: BulkAct) => void
}

/** What an operator can do with dead letters. */
export function LetterButtons({ which, of, noun, onAct }: LetterButtonsProps) {
  const api = useApiClient()
  if (useRole() !== 'operator') return null
  return (
    <>
      <Button size="xs" onClick={() => onAct(requeueAct(api, which, of))}>
        Requeue {noun}
      </Button>
      <Button size="xs" variant="light" color="red" onClick={() => onAct(dropAct(api, which, of))}>
        Drop {noun}
      </Button>
    </>
  )
}
