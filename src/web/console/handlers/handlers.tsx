import { useGet } from '../../ui/api.tsx'
import { List } from '../../ui/list.tsx'
import { Page } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerJson, HandlerListJson } from '../../../admin/handlers.ts'
import { useIsOperator } from '../role.ts'
import { byTrouble } from './handler.ts'
import { PauseAllAction } from './handler-actions.tsx'
import { HandlerDetail } from './handler-detail.tsx'
import { pageColumns, noHandlers } from './handler-table.tsx'

/** All handlers and sinks; the panel shows one with its actions and settings. */
export function HandlersPage() {
  const isOperator = useIsOperator()
  const isPaused = useGet<HandlerListJson>('/handlers').data?.paused
  return (
    <Page title="Handlers" actions={isOperator && isPaused !== undefined && <PauseAllAction isPaused={isPaused} />}>
      <List
        caption="Handlers and sinks"
        path="/handlers"
        matches={() => true}
        pollMs={5_000}
        order={byTrouble}
        rowKey={({ name }: HandlerJson) => name}
        columns={pageColumns}
        detail={{
          label: 'Handler',
          title: (name) => shortText(name),
          render: (name, handler) =>
            handler === undefined ? (
              <Empty title="No handler has this name" />
            ) : (
              <HandlerDetail key={name} handler={handler} />
            ),
        }}
        empty={noHandlers}
      />
    </Page>
  )
}
