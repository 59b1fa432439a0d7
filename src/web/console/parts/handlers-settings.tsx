import { formatDuration } from '../../ui/format.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Facts } from '../../ui/page.tsx'
import type { HandlerJson } from '../contract.ts'

type Settings = NonNullable<HandlerJson['settings']>

/** What a handler says of itself in its file, folded. */
export function HandlerSettings({ settings }: { readonly settings: Settings }) {
  const { types, key, rate, max_age_ms: maxAge, retry } = settings
  return (
    <details className="ui-details">
      <summary>Settings</summary>
      <Facts
        facts={[
          ['Types', <LongText key="types" value={types.join(', ')} />],
          ['Order', settings.order === 'key' ? 'one after the other for each key' : 'none'],
          ['Key', <LongText key="key" value={key?.join(', ') ?? 'that of the event'} />],
          ['Concurrency', settings.own_concurrency],
          [
            'Rate',
            rate === null || rate === undefined ? 'no limit' : <LongText key="rate" value={JSON.stringify(rate)} />,
          ],
          ['Priority', settings.priority],
          ['Timeout', formatDuration(settings.timeout_ms)],
          ['Retries', retry === null ? 'a function decides' : inWords(retry)],
          ['When it is given up', settings.on_dead === 'hold' ? 'holds up its key' : 'the key goes on'],
          ['Newest only', settings.latest_only ? 'yes' : 'no'],
          ['A thread of its own', settings.isolate ? 'yes' : 'no'],
          ['Too old after', maxAge === null ? 'never' : formatDuration(maxAge)],
          ['File', <LongText key="file" value={settings.file} />],
        ]}
      />
    </details>
  )
}

function inWords({ attempts, base_ms: base, cap_ms: cap }: NonNullable<Settings['retry']>): string {
  return `${attempts} attempts, ${formatDuration(base)} doubling up to ${formatDuration(cap)}`
}
