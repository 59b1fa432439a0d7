import { formatDuration } from '../../ui/format.ts'
import { Facts } from '../../ui/page.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { Attempt } from '../contract.ts'

/** One attempt: when, what came, how long it took, what was sent and answered. */
export function AttemptPanel({ attempt }: { readonly attempt: Attempt }) {
  const { at, status, failure, latencyMs, isExtra, faults, requestHeaders, responseHeaders, responseExcerpt } = attempt
  const name = `${isExtra ? 'Extra delivery' : attempt.attempt === 1 ? 'First attempt' : `Retry ${attempt.attempt - 1}`}`
  const isGood = failure === null && status !== null && status >= 200 && status < 300
  return (
    <article className="ui-card ui-attempt" aria-label={name}>
      <div className="ui-row">
        <h3>{name}</h3>
        <StatusBadge status={status === null ? 'no answer' : String(status)} tone={isGood ? 'good' : 'bad'} />
        {faults.map((fault) => (
          <StatusBadge key={fault} status={`fault: ${fault}`} tone="warning" />
        ))}
      </div>
      {failure !== null && (
        <p className="ui-bad">
          <PlainText value={failure} />
        </p>
      )}
      <Facts
        facts={[
          ['At', <Time key="at" at={at} />],
          ['Latency', formatDuration(latencyMs)],
          ['Next attempt', <Time key="next" at={attempt.nextAttemptAt} />],
        ]}
      />
      <details>
        <summary>Headers and answer</summary>
        <div className="ui-stack">
          <HeaderList title="Sent" headers={requestHeaders} />
          <HeaderList title="Answered" headers={responseHeaders} />
          <div className="ui-json">
            <h4>Beginning of the answer</h4>
            {responseExcerpt === '' ? (
              <p className="ui-dimmed">Nothing came.</p>
            ) : (
              <pre tabIndex={0} role="region" aria-label="Beginning of the answer">
                {toVisible(responseExcerpt)}
              </pre>
            )}
          </div>
        </div>
      </details>
    </article>
  )
}

function HeaderList({ title, headers }: { readonly title: string; readonly headers: Attempt['requestHeaders'] }) {
  const lines = Object.entries(headers).map(([name, value]) => `${toVisible(name)}: ${toVisible(value)}`)
  return (
    <div className="ui-json">
      <h4>{title}</h4>
      {lines.length === 0 ? (
        <p className="ui-dimmed">No headers.</p>
      ) : (
        <pre tabIndex={0} role="region" aria-label={`${title}: headers`}>
          {lines.join('\n')}
        </pre>
      )}
    </div>
  )
}
