import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { Page } from '../../ui/page.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { QuarantinedJson, QuarantineGroupsJson } from '../contract.ts'
import { BulkDialog, type BulkAct } from '../parts/bulk-dialog.tsx'
import { useChanged, useList } from '../parts/bulk-list.ts'
import { BodyButtons } from '../parts/quarantine-buttons.tsx'
import { BodyGroups } from '../parts/quarantine-groups.tsx'
import { BodyList } from '../parts/quarantine-list.tsx'
import { quarantineReasons } from '../parts/quarantine-reasons.ts'

const pageSize = 50

/** What came with a right signature and is no event that can be used (A48). */
export function QuarantinePage() {
  const reason = useLocation().query.get('reason') ?? ''
  const groups = useApi<QuarantineGroupsJson>('/quarantine/groups')
  const list = useList<QuarantinedJson>(`/quarantine${queryOf({ reason, limit: pageSize })}`)
  const [act, setAct] = useState<BulkAct | null>(null)
  const reload = () => {
    groups.reload()
    list.reload()
  }
  useChanged('quarantine', reload)

  const isKnown = reason === '' || Object.hasOwn(quarantineReasons, reason)
  return (
    <Page
      title="Quarantine"
      about="Bodies with a right signature that are no event that can be used. The sender was told that they arrived; their exact bytes are kept here."
      actions={
        reason === '' &&
        list.rows !== null &&
        list.rows.length > 0 && <BodyButtons which={{ all: true }} of="of all reasons" noun="all" onAct={setAct} />
      }
    >
      <div className="ui-form" role="search" aria-label="Filter of the quarantine">
        <NativeSelect
          label="Reason"
          data={[
            { value: '', label: 'All' },
            ...Object.entries(quarantineReasons).map(([value, { title }]) => ({ value, label: title })),
            ...(isKnown ? [] : [{ value: reason, label: toVisible(reason.slice(0, 80)) }]),
          ]}
          value={reason}
          onChange={(event) => goTo(`/quarantine${queryOf({ reason: event.currentTarget.value })}`, { replace: true })}
        />
      </div>
      <BodyGroups groups={groups} reason={reason} onAct={setAct} />
      <BodyList list={list} onAct={setAct} />
      <BulkDialog act={act} onClose={() => setAct(null)} onDone={reload} />
    </Page>
  )
}
