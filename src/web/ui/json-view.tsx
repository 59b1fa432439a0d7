import { Switch } from '@mantine/core'
import { useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { indentJson } from './indent-json.ts'

export interface JsonViewProps {
  /** The text as it is. */
  readonly text: string
  /** What it is. */
  readonly label: string
}

/** A JSON text, exact, or on lines of their own; numbers stay as they were written either way. Copies the exact text. */
export function JsonView({ text, label }: JsonViewProps) {
  const [isIndented, setIndented] = useState(true)
  return (
    <div className="ui-json">
      <div className="ui-row">
        <Switch
          size="sm"
          label="On lines of their own"
          checked={isIndented}
          onChange={(event) => setIndented(event.currentTarget.checked)}
        />
        <CopyButton value={text} what={label} />
      </div>
      <pre tabIndex={0} role="region" aria-label={label}>
        {isIndented ? indentJson(text) : text}
      </pre>
    </div>
  )
}
