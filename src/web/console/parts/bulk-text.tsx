import { beginOf } from '../../ui/long-text.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import './bulk.css'

/** Far more than anybody reads; a text of megabytes would stop the page. */
const mostShown = 100_000

/** The begin of a text from outside on one line, at most so many characters. */
export function Clipped({ value, most = 160 }: { readonly value: string; readonly most?: number }) {
  return <PlainText value={value.length > most ? `${beginOf(value, most)}…` : value} />
}

/** A text from outside with its own lines; what is not seen is shown as its code. */
export function TextBlock({ text, label }: { readonly text: string; readonly label: string }) {
  const left = text.length - mostShown
  return (
    <div className="ui-json">
      <pre tabIndex={0} role="region" aria-label={label}>
        {toVisibleLines(beginOf(text, mostShown))}
        {left > 0 && `\n… and ${left} characters more`}
      </pre>
    </div>
  )
}

/** As `toVisible`, but the ends of lines stay. */
function toVisibleLines(text: string): string {
  return text.split('\n').map(toVisible).join('\n')
}
