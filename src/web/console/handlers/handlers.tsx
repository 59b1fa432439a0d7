import { useHotkeys } from '@mantine/hooks'
import { useGet } from '../../ui/api.tsx'
import { usePageLocation } from '../../ui/router.tsx'
import { Page, SidePanel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerListJson } from '../../../admin/handlers.ts'
import { useIsOperator } from '../role.ts'
import { PauseAllAction } from './handler-actions.tsx'
import { HandlerDetail } from './handler-detail.tsx'
import { HandlerTable } from './handler-table.tsx'

/** All handlers and sinks; the panel shows one with its actions and settings. */
export function HandlersPage() {
  const location = usePageLocation()
  const isOperator = useIsOperator()
  const query = useGet<HandlerListJson>('/handlers', { pollMs: 5_000 })
  const { open: openName = null } = location.parameters
  const opened = query.data?.data.find(({ name }) => name === openName)
  const close = () => location.go({ open: '' }, { replace: true })
  useHotkeys([['Escape', () => openName !== null && close()]])
  return (
    <Page
      title="Handlers"
      isFilling
      actions={isOperator && query.data && <PauseAllAction isPaused={query.data.paused} />}
    >
      <div className="ui-split">
        <div className="ui-list">
          <Loaded query={query}>{({ data }) => <HandlerTable handlers={data} openName={openName} />}</Loaded>
        </div>
        {openName !== null && query.data !== undefined && (
          <SidePanel title={shortText(openName)} label="Handler" onClose={close}>
            {opened === undefined ? (
              <Empty title="No handler has this name" />
            ) : (
              <HandlerDetail key={opened.name} handler={opened} />
            )}
          </SidePanel>
        )}
      </div>
    </Page>
  )
}
