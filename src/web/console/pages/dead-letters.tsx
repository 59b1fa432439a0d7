import { Anchor, Button, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { eventTypes } from '../../ui/names.ts'
import { Page } from '../../ui/page.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { DeadGroupsJson, DeadLetterJson, HandlerListJson } from '../contract.ts'
import { BulkDialog, type BulkAct } from '../parts/bulk-dialog.tsx'
import { useChanged, useList } from '../parts/bulk-list.ts'
import { TextFilter } from '../parts/bulk-text-filter.tsx'
import { LetterButtons } from '../parts/dead-letters-buttons.tsx'
import { LetterGroups } from '../parts/dead-letters-groups.tsx'
import { LetterList } from '../parts/dead-letters-list.tsx'

const pageSize = 50

/** What handlers gave up on, by its cause, and what can be done with it. */
export function DeadLettersPage() {
  const { query } = useLocation()
  const filter = {
    handler: query.get('handler') ?? '',
    type: query.get('type') ?? '',
    group: query.get('group') ?? '',
  }
  const { group, ...common } = filter
  const groups = useApi<DeadGroupsJson>(`/dead-letters/groups${queryOf(common)}`)
  const list = useList<DeadLetterJson>(`/dead-letters${queryOf({ ...filter, limit: pageSize })}`)
  const handlers = useApi<HandlerListJson>('/handlers').data?.data ?? []
  const [act, setAct] = useState<BulkAct | null>(null)
  const reload = () => {
    groups.reload()
    list.reload()
  }
  useChanged('dead-letters', reload)

  const at = (next: Partial<typeof filter>) => `/dead-letters${queryOf({ ...filter, ...next })}`
  const change = (next: Partial<typeof filter>) => goTo(at(next), { replace: true })
  const given = Object.entries(filter).filter(([, value]) => value !== '')
  const isFiltered = given.length > 0
  const names = [...new Set([...handlers.map(({ name }) => name), ...(filter.handler === '' ? [] : [filter.handler])])]

  return (
    <Page
      title="Dead letters"
      about="Runs that their handler gave up on. The events are kept: mend the cause and requeue them, or drop them with a reason."
      actions={
        list.rows !== null &&
        list.rows.length > 0 && (
          <LetterButtons
            which={isFiltered ? { filter: Object.fromEntries(given) } : { all: true }}
            of={isFiltered ? `with ${inWords(given)}` : 'of all handlers'}
            noun={isFiltered ? 'all that match' : 'all'}
            onAct={setAct}
          />
        )
      }
    >
      <div className="ui-form" role="search" aria-label="Filter of dead letters">
        <NativeSelect
          label="Handler"
          data={[{ value: '', label: 'All' }, ...names.map((name) => ({ value: name, label: toVisible(name) }))]}
          value={filter.handler}
          onChange={(event) => change({ handler: event.currentTarget.value, group: '' })}
        />
        <TextFilter
          label="Type"
          value={filter.type}
          offered={eventTypes}
          onChange={(type) => change({ type, group: '' })}
        />
        {isFiltered && (
          <Button variant="default" onClick={() => goTo('/dead-letters')}>
            Clear the filter
          </Button>
        )}
      </div>
      {group === '' ? (
        <LetterGroups
          groups={groups}
          type={filter.type}
          isFiltered={isFiltered}
          hrefOf={(one) => `#${at({ handler: one.handler, group: one.group })}`}
          onAct={setAct}
        />
      ) : (
        <p>
          Those with the error <strong className="ui-text">{toVisible(group)}</strong>.{' '}
          <Anchor href={`#${at({ group: '' })}`}>All errors</Anchor>
        </p>
      )}
      <LetterList list={list} title={group === '' ? 'One by one' : 'Dead letters with this error'} onAct={setAct} />
      <BulkDialog act={act} onClose={() => setAct(null)} onDone={reload} />
    </Page>
  )
}

function inWords(given: readonly (readonly [name: string, value: string])[]): string {
  return given.map(([name, value]) => `${name === 'group' ? 'error' : name} “${toVisible(value)}”`).join(', ')
}
