import { indentJson } from './indent-json.ts'
import { Copy } from './values.tsx'
import { TextBlock } from './text.tsx'

/** An indented JSON text with its numbers digit by digit. Copies the original text. */
export function JsonView({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="ui-json">
      <Copy value={text} label={label.toLowerCase()} />
      <TextBlock value={indentJson(text)} label={label} />
    </div>
  )
}
