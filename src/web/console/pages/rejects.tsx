import { useLocation } from '../../ui/hash-router.ts'
import { formatCount } from '../../ui/format.ts'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { RejectListJson } from '../contract.ts'
import { Arrive } from '../parts/bulk-arrive.tsx'
import { useChanged } from '../parts/bulk-list.ts'
import { Explanation } from '../parts/rejects-explanation.tsx'
import { RejectPanel } from '../parts/rejects-groups.tsx'

/** Requests that were refused for good, by reason and source, with the signature explainer. */
export function RejectsPage() {
  const id = useLocation().query.get('id') ?? ''
  const { data, error, reload } = useApi<RejectListJson>('/rejects')
  useChanged('rejects', reload)
  const byReason = Object.entries(Object.groupBy(data?.data ?? [], ({ reason }) => reason)).map(
    ([reason, groups = []]) => ({ reason, groups, count: groups.reduce((sum, group) => sum + group.count, 0) }),
  )
  return (
    <Page
      title="Rejects"
      about="Requests to the webhook that were refused. They are kept in memory since the start of this program: the newest 200 pairs of reason and source, with one sample each."
    >
      {id !== '' && (
        <Arrive key={id} label="Explanation">
          <Explanation id={id} group={data?.data.find((group) => group.id === id)} />
        </Arrive>
      )}
      <ErrorState error={error} onRetry={reload} />
      {data === null && error === null && <LoadingState what="the rejects" />}
      {data !== null && data.dropped_groups > 0 && (
        <p className="ui-note">
          {formatCount(data.dropped_groups)} {data.dropped_groups === 1 ? 'group' : 'groups'} had to make room for newer
          ones; their requests are not counted here. The metric <code>inbox_rejects_total</code> counts all.
        </p>
      )}
      {data?.data.length === 0 && (
        <EmptyState title="Nothing was refused since the start">
          What comes with a wrong signature, to another path or too large is listed here.{' '}
          <code>onchain-inbox verify</code> explains a signature by hand.
        </EmptyState>
      )}
      {byReason
        .toSorted((a, b) => b.count - a.count)
        .map(({ reason, groups }) => (
          <RejectPanel key={reason} reason={reason} groups={groups} />
        ))}
    </Page>
  )
}
