import { Anchor } from '@mantine/core'
import { ApiError } from '../../ui/api.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { RejectExplanationJson, RejectGroupJson } from '../contract.ts'
import { TextBlock } from './bulk-text.tsx'
import { verdictSteps } from './rejects-reasons.ts'

export interface ExplanationProps {
  readonly id: string
  /** Whose newest request is explained, if it is still known. */
  readonly group: RejectGroupJson | undefined
}

/** What the signature explainer finds in the newest request of a group, and what to do about it (R73, A30–A32). */
export function Explanation({ id, group }: ExplanationProps) {
  const { data, error, reload } = useApi<RejectExplanationJson>(`/rejects/${encodeURIComponent(id)}`)
  const isGone = error instanceof ApiError && error.status === 404
  const step = data !== null && Object.hasOwn(verdictSteps, data.code) ? verdictSteps[data.code] : undefined
  return (
    <Panel title="What is wrong with the signature" actions={<Anchor href="#/rejects">Close</Anchor>}>
      {isGone ? (
        <EmptyState title="This request is not kept any more">
          It made room for newer ones, or this program was started anew. Let the sender try again.
        </EmptyState>
      ) : (
        <ErrorState error={error} onRetry={reload} />
      )}
      {data === null && error === null && <LoadingState what="the explanation" />}
      {data !== null && !isGone && (
        <>
          <h3>{step?.title ?? 'Another finding'}</h3>
          <p className="bulk-about">{toVisible(data.message)}</p>
          {step !== undefined && (
            <p className="bulk-about">
              <strong>What to do:</strong> {step.todo}
            </p>
          )}
          <Facts
            facts={[
              [
                'Finding',
                <code key="code" className="ui-mono">
                  {toVisible(data.code)}
                </code>,
              ],
              ['Matched secret', <PlainText key="label" value={data.matched_label} fallback="none" />],
              ['Source', <PlainText key="source" value={group?.source} />],
            ]}
          />
          <h3>Headers</h3>
          <p className="ui-dimmed ui-note">Without the signature and others that are secret.</p>
          <TextBlock
            label="Headers of the request"
            text={Object.entries(data.headers)
              .map(([name, value]) => `${toVisible(name)}: ${toVisible(value)}`)
              .join('\n')}
          />
          <h3>Begin of the body</h3>
          <TextBlock label="Begin of the body" text={data.preview === '' ? '(it is empty)' : data.preview} />
        </>
      )}
    </Panel>
  )
}
