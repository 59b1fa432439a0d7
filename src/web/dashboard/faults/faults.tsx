import { Action } from '../../ui/action.tsx'
import { useGet, type ListJson } from '../../ui/api.tsx'
import { filledIn, Form } from '../../ui/form.tsx'
import { formatCount } from '../../ui/format.ts'
import { Page, Panel } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import type { DeliveryCounts, FaultKind, Scenario, StoredFault } from '../contract.ts'
import { choiceField } from '../fields.tsx'
import { FaultForm } from './fault-form.tsx'

const columns: readonly Column<StoredFault>[] = [
  { header: 'Kind', width: '14rem', isName: true, cell: ({ rule }) => <Line value={rule.fault.kind} /> },
  {
    header: 'Affects',
    width: '9rem',
    cell: ({ rule }) => (rule.direction === 'out' ? 'deliveries' : 'REST answers'),
  },
  { header: 'Settings', cell: ({ rule }) => <Line value={settingsText(rule)} /> },
  { header: 'Applied', width: '6rem', isNumber: true, cell: ({ struck }) => formatCount(struck) },
  { header: 'Action', width: '7rem', narrow: 'plain', cell: (fault) => <Remove fault={fault} /> },
]

/** Deliberate failures of deliveries and of REST answers. */
export function FaultsPage() {
  const rules = useGet<ListJson<StoredFault>>('/faults')
  const kinds = useGet<ListJson<FaultKind>>('/faults/kinds')
  const scenarios = useGet<ListJson<Scenario>>('/scenarios')
  const duplicates = useGet<DeliveryCounts>('/deliveries/counts').data?.duplicates
  return (
    <Page title="Faults">
      <Panel
        title="Rules in force"
        isFlush
        note={`Duplicates: ${formatCount(duplicates)}, ${duplicateNote(rules.data?.data)}`}
        actions={
          (rules.data?.data.length ?? 0) > 0 && (
            <Action
              label="Remove all"
              title="Remove all rules?"
              isDangerous
              run={async ({ api }) => void (await api.send('DELETE', '/faults'))}
            >
              No delivery or answer fails on purpose any more.
            </Action>
          )
        }
      >
        <Loaded query={rules}>
          {({ data }) => (
            <DataTable
              caption="Rules in force"
              columns={columns}
              rows={data}
              rowKey={({ id }) => id}
              empty={
                <Empty title="No faults">
                  Every delivery is sent once and unharmed. Add a rule or start a scenario.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Panel>
      <Panel title="Scenarios" note="Replace all rules">
        <Loaded query={scenarios}>
          {({ data }) => (
            <Form
              isRow
              submit="Start"
              fields={(value) => [choiceField('Scenario', data, value)]}
              run={async ({ api, value }) => {
                await api.send('POST', '/scenarios', filledIn(value, 'name'))
                return `Scenario ${value('name')} has begun.`
              }}
            />
          )}
        </Loaded>
      </Panel>
      <Panel title="Add rule">
        <Loaded query={kinds}>{({ data }) => <FaultForm kinds={data} />}</Loaded>
      </Panel>
    </Page>
  )
}

/** Says whether a fault still repeats deliveries. */
export function duplicateNote(rules: readonly StoredFault[] = []): string {
  const isOn = rules.some(({ rule }) => rule.fault.kind.startsWith('duplicate'))
  return isOn ? 'sent on purpose' : 'sent on purpose; off now'
}

function Remove({ fault: { id, rule } }: { readonly fault: StoredFault }) {
  return (
    <Action
      label="Remove"
      name={`Remove ${shortText(rule.fault.kind)}`}
      title="Remove this rule?"
      isDangerous
      run={async ({ api }) => void (await api.send('DELETE', `/faults/${encodeURIComponent(id)}`))}
    >
      The rule no longer applies <code>{shortText(rule.fault.kind)}</code>.
    </Action>
  )
}

/** The settings of a rule as text: `rate 0.5, copies 3`. */
function settingsText({ fault, ...rule }: StoredFault['rule']): string {
  return [...Object.entries(fault), ...Object.entries(rule)]
    .filter(([name]) => name !== 'kind' && name !== 'direction')
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
