import { Action, type Counted } from '../ui/action.tsx'
import type { Api } from '../ui/api.tsx'
import type { Target } from '../ui/list.tsx'

export interface BulkActionProps<Result> {
  readonly verb: string
  /** Completes the label: `Requeue 3 runs`. */
  readonly what: string
  /** For screen readers, where several objects have such buttons. */
  readonly of?: string
  /** Question of the dialog. */
  readonly title: string
  /** Consequences. */
  readonly children: string
  readonly path: string
  /** Selections of rows, one per request. */
  readonly which: readonly object[]
  /** Deletes for good: asks for a reason. */
  readonly isDrop?: boolean
  readonly resultOf: (results: readonly Result[], isDryRun: boolean) => Counted
}

/** An action on many rows, counted by a dry run before it is confirmed. */
export function BulkAction<Result>(props: BulkActionProps<Result>) {
  const { verb, what, of, title, children, path, which, isDrop = false, resultOf } = props
  const send = async (api: Api, reason: string, isDryRun: boolean) => {
    const results: Result[] = []
    for (const selection of which) {
      const body = { ...selection, ...(isDrop && { reason }), ...(isDryRun && { dryRun: true }) }
      results.push(await api.send<Result>('POST', path, body))
    }
    return resultOf(results, isDryRun)
  }
  return (
    <Action
      label={`${verb} ${what}`}
      {...(of !== undefined && { name: `${verb} ${what} of ${of}` })}
      title={title}
      isPrimary={!isDrop}
      isDangerous={isDrop}
      needsReason={isDrop}
      preview={({ api, reason }) => send(api, reason, true)}
      run={async ({ api, reason }) => (await send(api, reason, false)).text}
    >
      {children}
    </Action>
  )
}

/** The rows that an action of a list is about, as the admin API takes them. */
export function selectionOf(
  { keys, filter }: Target,
  name: (count: number) => string,
  idsOf: (keys: readonly string[]) => object,
) {
  if (keys.length > 0) return { what: name(keys.length), which: [idsOf(keys)] }
  if (Object.keys(filter).length > 0) return { what: 'matching', which: [{ filter }] }
  return { what: 'all', which: [{ all: true }] }
}
