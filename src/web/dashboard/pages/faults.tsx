import { Button, Group } from '@mantine/core'
import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { formatCount } from '../../ui/format.ts'
import { Page, Panel } from '../../ui/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import { useStream } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { FaultKind, FaultRule, Scenario, StoredFault } from '../contract-faults.ts'
import { FaultForm } from './fault-form.tsx'

/** What goes wrong on purpose: with deliveries, and with answers of the REST service. */
export function FaultsPage() {
  const api = useApiClient()
  const rules = useApi<readonly StoredFault[]>('/faults')
  const kinds = useApi<readonly FaultKind[]>('/faults/kinds')
  useStream('attempt', useThrottled(rules.reload, 1_000))

  return (
    <Page title="Faults" about="What goes wrong on purpose, so that a receiver can be tried out.">
      <Panel
        title="Rules in force"
        actions={
          (rules.data?.length ?? 0) > 0 && (
            <ConfirmButton
              label="Remove all"
              title="Remove all rules?"
              verb="Remove all"
              onConfirm={async () => {
                await api.send('DELETE', '/faults')
                rules.reload()
              }}
            >
              Nothing goes wrong on purpose any more.
            </ConfirmButton>
          )
        }
      >
        <DataTable
          caption="Rules in force"
          rows={rules.data}
          error={rules.error}
          onRetry={rules.reload}
          rowKey={({ id }) => id}
          empty={<EmptyState title="No faults">Everything goes as it should.</EmptyState>}
          columns={[
            { header: 'Kind', isName: true, cell: ({ rule }) => <code>{rule.fault.kind}</code> },
            { header: 'Befalls', cell: ({ rule }) => (rule.direction === 'out' ? 'Deliveries' : 'Answers of REST') },
            { header: 'Settings', cell: ({ rule }) => <span className="ui-text">{inWords(rule)}</span> },
            { header: 'Struck', isNumber: true, cell: ({ struck }) => formatCount(struck) },
            {
              header: 'Actions',
              cell: ({ id, rule }) => (
                <ConfirmButton
                  label="Remove"
                  name={`Remove ${rule.fault.kind}`}
                  title="Remove this rule?"
                  verb="Remove"
                  onConfirm={async () => {
                    await api.send('DELETE', `/faults/${encodeURIComponent(id)}`)
                    rules.reload()
                  }}
                >
                  <code>{rule.fault.kind}</code> no longer happens by it.
                </ConfirmButton>
              ),
            },
          ]}
        />
      </Panel>
      <Scenarios onChosen={rules.reload} />
      <Panel title="Add a rule">
        <ErrorState error={kinds.error} onRetry={kinds.reload} />
        {kinds.data === null && kinds.error === null && <LoadingState what="the kinds of faults" />}
        {kinds.data !== null && <FaultForm kinds={kinds.data} onAdded={rules.reload} />}
      </Panel>
    </Page>
  )
}

function Scenarios({ onChosen }: { readonly onChosen: () => void }) {
  const api = useApiClient()
  const { data, error, reload } = useApi<readonly Scenario[]>('/scenarios')
  const { run, isBusy, error: chooseError } = useAct()
  const choose = (name: string) =>
    void run(async () => {
      await api.send('POST', '/scenarios', { name })
      onChosen()
    })
  return (
    <Panel title="Scenarios" about="Each puts its rules in place of those in force, and sets the world going.">
      <ErrorState error={error} onRetry={reload} />
      <ErrorState error={chooseError} />
      {data === null && error === null && <LoadingState what="the scenarios" />}
      <div className="ui-cards">
        {(data ?? []).map(({ name, about }) => (
          <article key={name} className="ui-card" aria-label={name}>
            <h3>{name}</h3>
            <p className="ui-dimmed">{about}</p>
            <Group>
              <Button
                size="xs"
                variant="default"
                loading={isBusy}
                aria-label={`Start ${name}`}
                onClick={() => choose(name)}
              >
                Start
              </Button>
            </Group>
          </article>
        ))}
      </div>
    </Panel>
  )
}

/** Everything a rule says beside direction and kind: `rate 0.5, copies 3`. */
function inWords({ fault, ...rule }: FaultRule): string {
  const settings = [...Object.entries(fault), ...Object.entries(rule)]
    .filter(([name]) => name !== 'kind' && name !== 'direction')
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return settings.join(', ') || '–'
}
