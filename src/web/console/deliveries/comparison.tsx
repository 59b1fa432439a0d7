import { VisuallyHidden } from '@mantine/core'
import { useMemo } from 'react'
import { formatCount } from '../../ui/format.ts'
import { indentJson } from '../../ui/indent-json.ts'
import { shortText } from '../../ui/text.tsx'
import { diffLines, maxLines, type DiffLine } from './diff.ts'

const maxBytes = 262_144
/** Equal lines around a difference. */
const contextLines = 3

/** A unified diff of two bodies, indented if they are JSON. */
export function Comparison({ kept, other }: { readonly kept: Uint8Array; readonly other: Uint8Array }) {
  const { lines, isCut } = useMemo(() => {
    const texts = [kept, other].map((bytes) => indentJson(new TextDecoder().decode(bytes.subarray(0, maxBytes))))
    const [keptText = '', otherText = ''] = texts
    const isCut =
      kept.length > maxBytes || other.length > maxBytes || texts.some((text) => text.split('\n').length > maxLines)
    return { lines: diffLines(keptText, otherText), isCut }
  }, [kept, other])
  const changed = lines.filter(({ side }) => side !== 'both').length
  return (
    <section className="ui-stack">
      <h3>Bodies</h3>
      <p role="status">
        {isCut && 'Only the beginnings are compared. '}
        {changed === 0 && !isCut ? 'The bodies differ in white space only.' : `${formatCount(changed)} lines differ.`}
      </p>
      <div className="ui-block" role="region" aria-label="Both bodies" tabIndex={0}>
        {nearChanges(lines).map(({ side, text }, index) => (
          // Lines have no identity, and don't move.
          <div key={index} className={classes[side]}>
            <span aria-hidden="true">{marks[side]} </span>
            {side !== 'both' && (
              <VisuallyHidden component="span">{side === 'kept' ? 'Kept: ' : 'Other: '}</VisuallyHidden>
            )}
            {shortText(text, 2_000)}
          </div>
        ))}
      </div>
    </section>
  )
}

const classes = { both: undefined, kept: 'ui-text-bad', other: 'ui-text-good' } as const
const marks: Readonly<Record<DiffLine['side'], string>> = { both: ' ', kept: '−', other: '+' }

function nearChanges(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Set<number>()
  for (const [index, { side }] of lines.entries()) {
    if (side === 'both') continue
    for (let at = index - contextLines; at <= index + contextLines; at++) near.add(at)
  }
  return lines.filter((_, index) => near.has(index))
}
