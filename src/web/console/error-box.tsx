import type { ReactNode } from 'react'
import { Text, TextBlock } from '../ui/text.tsx'

export interface ErrorBoxProps {
  readonly title: string
  readonly text?: string | null
  readonly stack?: string | null | undefined
  readonly isStackOpen?: boolean
  /** For screen readers, where the title doesn't name the object. */
  readonly label?: string
  readonly children?: ReactNode
}

/** An error, above everything else about its object. */
export function ErrorBox({ title, text, stack, isStackOpen = false, label = title, children }: ErrorBoxProps) {
  return (
    <div className="ui-error" role="group" aria-label={label}>
      <strong>{title}</strong>
      {text && <Text value={text} max={500} />}
      <Stack stack={stack} isOpen={isStackOpen} />
      {children}
    </div>
  )
}

export function Stack({ stack, isOpen = false }: Pick<ErrorBoxProps, 'stack'> & { readonly isOpen?: boolean }) {
  if (!stack) return null
  return (
    <Fold title="Stack trace" isOpen={isOpen}>
      <TextBlock value={stack} label="Stack trace" />
    </Fold>
  )
}

export interface FoldProps {
  readonly title: string
  readonly isOpen?: boolean
  readonly children: ReactNode
}

export function Fold({ title, isOpen = false, children }: FoldProps) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      {children}
    </details>
  )
}

/** Stored headers, one a line. */
export function Headers({ headers }: { readonly headers: Readonly<Record<string, string>> }) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return <TextBlock label="Headers" value={lines.join('\n')} />
}
