import type { DeadLetterJson } from '../contract.ts'
import { Clipped, TextBlock } from './bulk-text.tsx'

/** An error in a line; the whole of it, with its stack, when it is unfolded. */
export function LetterError({ letter }: { readonly letter: DeadLetterJson }) {
  const { name, message, stack } = letter.error
  return (
    <details className="bulk-unfold">
      <summary>
        <Clipped value={`${name}: ${message}`} />
      </summary>
      {/* A stack begins with the message, but for errors that have none. */}
      <TextBlock
        label={`Error of run ${letter.run_id}`}
        text={stack?.includes(message) === true ? stack : `${name}: ${message}${stack === null ? '' : `\n${stack}`}`}
      />
    </details>
  )
}
