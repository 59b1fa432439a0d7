import { Anchor, Button } from '@mantine/core'
import { useState } from 'react'
import { Address } from '../../ui/address.tsx'
import { formatCount } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { Loaded } from '../../ui/use-api.ts'
import type { DeadGroupsJson } from '../contract.ts'
import type { BulkAct } from './bulk-dialog.tsx'
import { eventHref } from './bulk-links.ts'
import { Clipped } from './bulk-text.tsx'
import { LetterButtons } from './dead-letters-buttons.tsx'
import { LetterError } from './dead-letters-error.tsx'

type Group = DeadGroupsJson['data'][number]

export interface LetterGroupsProps {
  readonly groups: Loaded<DeadGroupsJson>
  /** They are of this type alone; empty: of any. */
  readonly type: string
  readonly isFiltered: boolean
  /** Where the letters of a group are. */
  readonly hrefOf: (group: Group) => string
  readonly onAct: (act: BulkAct) => void
}

const step = 20

/** Dead letters that died of the same error are one thing to mend: the largest groups first. */
export function LetterGroups({ groups: { data, error, reload }, ...rest }: LetterGroupsProps) {
  const { type, isFiltered, hrefOf, onAct } = rest
  const [shown, setShown] = useState(step)
  return (
    <Panel
      title="By error"
      about="Errors that differ only in numbers and addresses are one group: mend the cause, then requeue it."
    >
      <ErrorState error={error} onRetry={reload} />
      {data === null && error === null && <LoadingState what="the groups" />}
      {data?.data.length === 0 && (
        <EmptyState title={isFiltered ? 'None that match' : 'No dead letters'}>
          {isFiltered
            ? 'Take something out of the filter.'
            : 'A run becomes one when its handler gave up on an event: after its last attempt, or at a TerminalError.'}
        </EmptyState>
      )}
      {data?.data.slice(0, shown).map((group) => (
        <GroupCard
          key={`${group.handler} ${group.group}`}
          group={group}
          type={type}
          href={hrefOf(group)}
          onAct={onAct}
        />
      ))}
      {data !== null && data.data.length > shown && (
        <Button variant="default" className="ui-start" onClick={() => setShown(shown + step)}>
          Show more groups ({formatCount(data.data.length - shown)} left)
        </Button>
      )}
      {data?.complete === false && (
        <p className="ui-dimmed ui-note">
          Only the newest dead letters were looked at: there are more, maybe of other groups.
        </p>
      )}
    </Panel>
  )
}

interface GroupCardProps {
  readonly group: Group
  readonly type: string
  readonly href: string
  readonly onAct: (act: BulkAct) => void
}

function GroupCard({ group, type, href, onAct }: GroupCardProps) {
  const { handler, group: name, count, held, sample } = group
  return (
    <article className="ui-card ui-attempt" data-row="" aria-label={toVisible(`${handler}: ${name}`)}>
      <div className="ui-row">
        <h3>
          <Anchor href={href}>
            <Clipped value={name} most={220} />
          </Anchor>
        </h3>
        {held > 0 && (
          <StatusBadge
            status={held === 1 ? '1 holds up its key' : `${formatCount(held)} hold up their keys`}
            tone="warning"
          />
        )}
      </div>
      <Facts
        facts={[
          ['Handler', <Clipped key="handler" value={handler} />],
          ['Dead letters', formatCount(count)],
          ['First died', <Time key="first" at={group.first_died_at} />],
          ['Last died', <Time key="last" at={group.last_died_at} />],
          ['Newest event', <Address key="event" value={sample.event_id} href={eventHref(sample.event_id)} />],
        ]}
      />
      <LetterError letter={sample} />
      <div className="ui-row">
        <LetterButtons
          which={{ filter: { handler, group: name, ...(type !== '' && { type }) } }}
          of={toVisible(`of ${handler} with “${name}”${type === '' ? '' : ` and the type ${type}`}`)}
          noun="group"
          onAct={onAct}
        />
      </div>
    </article>
  )
}
