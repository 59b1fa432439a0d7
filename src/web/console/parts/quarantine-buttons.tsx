import { Button } from '@mantine/core'
import { useApiClient } from '../../ui/api.ts'
import type { BulkAct } from './bulk-dialog.tsx'
import { dropBodiesAct, retryAct, type WhichBodies } from './quarantine-acts.ts'
import { useRole } from './role.ts'

export interface BodyButtonsProps {
  readonly which: WhichBodies
  /** Which they are, after “the bodies”. */
  readonly of: string
  /** On the buttons, as `all`. */
  readonly noun: string
  readonly onAct: (act: BulkAct) => void
}

/** What an operator can do with bodies in quarantine. */
export function BodyButtons({ which, of, noun, onAct }: BodyButtonsProps) {
  const api = useApiClient()
  if (useRole() !== 'operator') return null
  return (
    <>
      <Button size="xs" onClick={() => onAct(retryAct(api, which, of))}>
        Try {noun} again
      </Button>
      <Button size="xs" variant="light" color="red" onClick={() => onAct(dropBodiesAct(api, which, of))}>
        Drop {noun}
      </Button>
    </>
  )
}
