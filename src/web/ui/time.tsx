import { formatTime } from './format.ts'

/** A moment in UTC; on hover to the millisecond. */
export function Time({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <>–</>
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return <>–</>
  const exact = date.toISOString()
  return (
    <time className="ui-time" dateTime={exact} title={exact}>
      {formatTime(at)}
    </time>
  )
}
