import { PlainText, toVisible } from './plain-text.tsx'

export interface ErrorDetailsProps {
  readonly name: string
  readonly message: string
  readonly stack: string | null
}

const shownLength = 1_000

/** Why something failed: its class and message, and its stack behind a fold. */
export function ErrorDetails({ name, message, stack }: ErrorDetailsProps) {
  const rest = message.length > shownLength ? ` … (${message.length} characters)` : ''
  return (
    <div className="ui-error-details">
      <p className="ui-bad">
        <code>
          <PlainText value={name.slice(0, shownLength)} />
        </code>
        : <PlainText value={message.slice(0, shownLength)} />
        {rest}
      </p>
      {stack !== null && (
        <details className="ui-json">
          <summary>Stack</summary>
          <pre tabIndex={0} role="region" aria-label="Stack">
            {stack.split('\n').map(toVisible).join('\n')}
          </pre>
        </details>
      )}
    </div>
  )
}
