import { Button, Skeleton as Line } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from './api.tsx'
import { toVisible } from './text.tsx'

export interface EmptyProps {
  readonly title: string
  /** What would appear here, and how to produce it. */
  readonly children?: ReactNode
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="ui-empty">
      <strong>{title}</strong>
      <div className="ui-dim">{children}</div>
    </div>
  )
}

/** Placeholder of `rows` lines while data is loading. */
export function Skeleton({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className="ui-stack ui-skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <Line key={row} h={14} mx="md" w="70%" />
      ))}
    </div>
  )
}

export interface FailureProps {
  readonly error: Error | null
  readonly onRetry?: () => void
}

/** The server's message, with its field errors. Nothing without an error. */
export function Failure({ error, onRetry }: FailureProps) {
  if (error === null) return null
  const problems = error instanceof ApiError ? error.problems : []
  // The message often repeats the field errors.
  const others = problems.filter(({ message }) => !error.message.includes(message))
  return (
    <div className="ui-error" role="alert">
      <span>{toVisible(error.message)}</span>
      {others.map(({ path, message }) => (
        <span key={`${path} ${message}`}>
          {toVisible(path)}: {toVisible(message)}
        </span>
      ))}
      {onRetry !== undefined && (
        <Button variant="default" onClick={onRetry}>
          Retry
        </Button>
      )}
    </div>
  )
}

export interface LoadedProps<T> {
  readonly query: { readonly data: T | undefined; readonly error: Error | null; refetch(): unknown }
  readonly rows?: number
  readonly children: (data: T) => ReactNode
}

/** Skeleton, error with Retry, or the data of a query. An error of a later read stands above the data. */
export function Loaded<T>({ query, rows = 6, children }: LoadedProps<T>) {
  const { data, error } = query
  return (
    <>
      <Failure error={error} onRetry={() => void query.refetch()} />
      {data === undefined ? error === null && <Skeleton rows={rows} /> : children(data)}
    </>
  )
}
