import { Alert, Anchor, Group, NativeSelect } from '@mantine/core'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { HandlerJson, HandlerListJson } from '../contract.ts'
import { useChanged } from '../parts/bulk-list.ts'
import { PauseAllAct } from '../parts/handlers-acts.tsx'
import { NameFilter } from '../parts/handlers-name-filter.tsx'
import { HandlerPanel } from '../parts/handlers-panel.tsx'
import { usePoll } from '../parts/overview-live.ts'
import { useRole } from '../parts/role.ts'
import '../parts/overview.css'

/** Rates fall without anything changing. */
const pollMs = 10_000

interface Choice {
  readonly label: string
  readonly isShown: (handler: HandlerJson) => boolean
}

const all: Choice = { label: 'All', isShown: () => true }
const choices: Readonly<Record<string, Choice>> = {
  '': all,
  trouble: {
    label: 'With trouble',
    isShown: ({ shut, loaded, dead, held, suspect, pace }) =>
      shut !== null || !loaded || dead + held + suspect > 0 || (pace?.failures_per_second ?? 0) > 0,
  },
  paused: { label: 'Paused', isShown: ({ paused }) => paused },
  sinks: { label: 'Sinks', isShown: ({ kind }) => kind === 'sink' },
  gone: { label: 'Not loaded', isShown: ({ loaded }) => !loaded },
}

/** Handlers and sinks: how they go, what waits, and what can be done about it. */
export function HandlersPage() {
  const { query } = useLocation()
  const filter = { show: query.get('show') ?? '', q: query.get('q') ?? '' }
  const { data, error, reload } = useApi<HandlerListJson>('/handlers')
  const isOperator = useRole() === 'operator'
  useChanged('handlers', reload)
  usePoll(pollMs, reload)
  const change = (part: Partial<typeof filter>) =>
    goTo(`/handlers${queryOf({ ...filter, ...part })}`, { replace: true })
  const { isShown } = choices[filter.show] ?? all
  const shown = data?.data.filter((handler) => isShown(handler) && handler.name.includes(filter.q)) ?? []

  return (
    <Page
      title="Handlers"
      about="What runs on each event, and where events are sent. Rates are of the last minute, times of the last five, in this process."
      actions={isOperator && data !== null && <PauseAllAct paused={data.paused} onDone={reload} />}
    >
      <Group gap="sm">
        <NativeSelect
          label="Show"
          data={Object.entries(choices).map(([value, { label }]) => ({ value, label }))}
          value={filter.show}
          onChange={(event) => change({ show: event.currentTarget.value })}
        />
        <NameFilter value={filter.q} onChange={(q) => change({ q })} />
      </Group>
      <ErrorState error={error} onRetry={reload} />
      {data === null && error === null && <LoadingState what="the handlers" />}
      {data?.paused === true && (
        <Alert color="yellow" variant="light" title="All handlers are paused">
          Events are accepted and stored; no run is handed out until the handlers go on.
        </Alert>
      )}
      {data !== null && data.data.length === 0 && (
        <EmptyState title="No handlers yet">
          Put one into the folder of handlers, which{' '}
          <Anchor href="#/settings?q=handlers" className="console-link">
            the settings
          </Anchor>{' '}
          name, or set <code>INBOX_FORWARD_URL</code>.
        </EmptyState>
      )}
      {data !== null && data.data.length > 0 && shown.length === 0 && (
        <EmptyState title="No such handlers">Show all of them, or change the name.</EmptyState>
      )}
      {shown.map((handler) => (
        <HandlerPanel key={handler.name} handler={handler} onDone={reload} />
      ))}
    </Page>
  )
}
