import { Alert, Button, Loader } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from './api.ts'
import { toVisible } from './plain-text.tsx'

/** Where there is nothing: what would be here, and how it gets here. */
export function EmptyState({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="ui-empty">
      <p className="ui-empty-title">{title}</p>
      {children !== undefined && <div className="ui-dimmed">{children}</div>}
    </div>
  )
}

export function LoadingState({ what }: { readonly what: string }) {
  return (
    <div className="ui-empty" role="status">
      <Loader size="sm" aria-hidden="true" />
      <p className="ui-dimmed">Loading {what}</p>
    </div>
  )
}

export interface ErrorStateProps {
  readonly error: Error | null
  readonly onRetry?: () => void
}

/** What went wrong, in the words of the server, where it went wrong; nothing where nothing did. */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  if (error === null) return null
  const problems = error instanceof ApiError ? error.problems : []
  // The message names each of them already when it is about them.
  const others = problems.filter(({ message }) => !error.message.includes(message))
  return (
    <Alert color="red" variant="light" role="alert" title="That did not work" className="ui-error">
      <p>{toVisible(error.message)}</p>
      {others.length > 0 && (
        <ul>
          {others.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              {toVisible(path)}: {toVisible(message)}
            </li>
          ))}
        </ul>
      )}
      {onRetry !== undefined && (
        <Button size="xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}
