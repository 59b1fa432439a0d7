import { useHotkeys } from '@mantine/hooks'
import { useGet } from '../../ui/api.tsx'
import { TextFilter } from '../../ui/list.tsx'
import { usePlace } from '../../ui/router.tsx'
import { Page, SidePanel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { shortText } from '../../ui/text.tsx'
import type { HandlerListJson } from '../contract.ts'
import { useIsOperator } from '../role.ts'
import { PauseAllAction } from './handler-actions.tsx'
import { HandlerDetail } from './handler-detail.tsx'
import { HandlerTable } from './handler-table.tsx'

/** All handlers and sinks; the panel shows one with its actions and settings. */
export function HandlersPage() {
  const place = usePlace()
  const isOperator = useIsOperator()
  const handlers = useGet<HandlerListJson>('/handlers', { pollMs: 5_000 })
  const { q = '', open: openName = null } = place.parameters
  const close = () => place.go({ open: '' }, { replace: true })
  useHotkeys([['Escape', () => openName !== null && close()]])
  return (
    <Page title="Handlers" isFilling>
      <Loaded query={handlers}>
        {({ data, paused }) => {
          const opened = data.find(({ name }) => name === openName)
          return (
            <div className="ui-split">
              <div className="ui-list">
                <div className="ui-bar">
                  <TextFilter label="Name" value={q} onChange={(value) => place.go({ q: value }, { replace: true })} />
                  {isOperator && <PauseAllAction isPaused={paused} />}
                </div>
                <HandlerTable
                  handlers={data.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))}
                  openName={openName}
                />
              </div>
              {openName !== null && (
                <SidePanel title={shortText(openName)} label="Handler" onClose={close}>
                  {opened === undefined ? (
                    <Empty title="No handler has this name" />
                  ) : (
                    <HandlerDetail handler={opened} />
                  )}
                </SidePanel>
              )}
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}
