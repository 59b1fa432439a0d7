import { ActionIcon, Button } from '@mantine/core'
import { useState } from 'react'
import { Icon } from './icons.tsx'

export interface CopyButtonProps {
  readonly value: string
  /** What it is, for its name: `Copy address 0x…`. */
  readonly what: string
  /** With its name beside the icon. */
  readonly isLarge?: boolean
}

type State = 'ready' | 'copied' | 'failed'
const words = { ready: 'Copy', copied: 'Copied', failed: 'Copy by hand' } as const

/** Copies a text; where the browser gives no clipboard (plain HTTP from elsewhere) it says so. */
export function CopyButton({ value, what, isLarge = false }: CopyButtonProps) {
  const [state, setState] = useState<State>('ready')
  const copy = () => {
    const clipboard = 'clipboard' in navigator ? navigator.clipboard : null
    if (clipboard === null) setState('failed')
    else
      clipboard.writeText(value).then(
        () => setState('copied'),
        () => setState('failed'),
      )
  }
  const reset = () => setState('ready')
  const icon = <Icon name={state === 'copied' ? 'check' : 'copy'} />
  const said = state === 'ready' ? `Copy ${what}` : `${words[state]}: ${what}`
  if (isLarge)
    return (
      <Button variant="default" leftSection={icon} onClick={copy} onBlur={reset} aria-label={said}>
        {words[state]}
      </Button>
    )
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      onClick={copy}
      onBlur={reset}
      onMouseLeave={reset}
      aria-label={said}
      title={said}
    >
      {icon}
    </ActionIcon>
  )
}
