import { Anchor } from '@mantine/core'
import { LongText, shortText } from '../../ui/long-text.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { WarningJson } from '../contract.ts'

const tones: Readonly<Record<WarningJson['level'], Tone>> = { critical: 'bad', warning: 'warning', info: 'info' }

/** What a warning is about, where its title does not say it. */
const besides = ({ title, subject }: WarningJson) => (title.includes(subject) ? '' : subject)

/** What needs a look, as the server orders it: the most urgent first. */
export function Warnings({ warnings }: { readonly warnings: readonly WarningJson[] }) {
  if (warnings.length === 0) return <p className="ui-good">Nothing needs a look now.</p>
  return (
    <ul className="console-warnings" aria-label="What needs attention">
      {warnings.map((warning) => (
        <li key={`${warning.code} ${warning.subject}`}>
          <StatusBadge status={warning.level} tone={tones[warning.level]} />
          <div>
            <span className="console-warnings-title">
              <LongText value={warning.title} />
            </span>{' '}
            {besides(warning) !== '' && <bdi className="ui-text">{shortText(besides(warning))}</bdi>}
            <p>
              <LongText value={warning.text} />
            </p>
            <p className="ui-dimmed">
              since <Time at={warning.since} /> UTC
            </p>
          </div>
          {warning.href?.startsWith('/') === true && (
            // The part after # is all it can change: no text from elsewhere leads away from the page.
            <Anchor
              href={`#${warning.href}`}
              aria-label={`Look at it: ${shortText(warning.title)} ${shortText(besides(warning))}`.trimEnd()}
            >
              Look at it
            </Anchor>
          )}
        </li>
      ))}
    </ul>
  )
}
