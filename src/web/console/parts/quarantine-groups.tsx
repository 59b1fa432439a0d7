import { Anchor } from '@mantine/core'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { Loaded } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { QuarantineGroupsJson } from '../contract.ts'
import type { BulkAct } from './bulk-dialog.tsx'
import { BodyButtons } from './quarantine-buttons.tsx'
import { quarantineReason } from './quarantine-reasons.ts'

type Group = QuarantineGroupsJson['data'][number]

export interface BodyGroupsProps {
  readonly groups: Loaded<QuarantineGroupsJson>
  /** Only this one; empty: all. */
  readonly reason: string
  readonly onAct: (act: BulkAct) => void
}

/** Why bodies are in quarantine, what that means and what to do: a card for each reason, the largest first. */
export function BodyGroups({ groups: { data, error, reload }, reason, onAct }: BodyGroupsProps) {
  const byReason = Object.entries(Object.groupBy(data?.data ?? [], (group) => group.reason))
    .map(([code, groups = []]) => ({ code, groups, count: sum(groups, 'count') }))
    .filter(({ code }) => reason === '' || code === reason)
    .toSorted((a, b) => b.count - a.count)
  return (
    <Panel title="By reason">
      <ErrorState error={error} onRetry={reload} />
      {data === null && error === null && <LoadingState what="the reasons" />}
      {data !== null && byReason.length === 0 && (
        <EmptyState title={reason === '' ? 'Nothing is in quarantine' : 'None with this reason'}>
          A body is put here if its signature is right and it is no event that can be used. Nothing of it is lost.
        </EmptyState>
      )}
      {byReason.map(({ code, groups, count }) => (
        <ReasonCard key={code} code={code} groups={groups} count={count} onAct={onAct} />
      ))}
    </Panel>
  )
}

interface ReasonCardProps {
  readonly code: string
  readonly groups: readonly Group[]
  readonly count: number
  readonly onAct: (act: BulkAct) => void
}

function ReasonCard({ code, groups, count, onAct }: ReasonCardProps) {
  const { title, means, todo } = quarantineReason(code)
  const labels = groups.map((group) => `${toVisible(group.secret_label)} (${formatCount(group.count)})`)
  return (
    <article className="ui-card ui-attempt" data-row="" aria-label={title}>
      <div className="ui-row">
        <h3>
          <Anchor href={`#/quarantine${queryOf({ reason: code })}`}>{title}</Anchor>
        </h3>
        <code className="bulk-words ui-mono">{toVisible(code)}</code>
      </div>
      <p>
        {means} {todo}
      </p>
      <Facts
        facts={[
          ['Bodies', formatCount(count)],
          ['Size', formatBytes(sum(groups, 'size_bytes'))],
          ['First', <Time key="first" at={groups.map(({ first_at: at }) => at).toSorted()[0]} />],
          [
            'Last',
            <Time
              key="last"
              at={groups
                .map(({ last_at: at }) => at)
                .toSorted()
                .at(-1)}
            />,
          ],
          ['By secret', labels.join(', ')],
        ]}
      />
      <div className="ui-row">
        <BodyButtons
          which={{ filter: { reason: code } }}
          of={`with the reason “${title}”`}
          noun="these"
          onAct={onAct}
        />
      </div>
    </article>
  )
}

function sum(groups: readonly Group[], name: 'count' | 'size_bytes'): number {
  return groups.reduce((total, group) => total + group[name], 0)
}
