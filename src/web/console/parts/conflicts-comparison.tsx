import { useMemo } from 'react'
import { formatCount } from '../../ui/format.ts'
import { indentJson } from '../../ui/indent-json.ts'
import { toVisible } from '../../ui/plain-text.tsx'
import { fromBase64, toText } from './bulk-bytes.ts'
import { diffLines, foldRows, type Diff, type ShownRow } from './conflicts-diff.ts'
import './conflicts.css'

const mostBytes = 262_144
const mostRows = 1_000
const mostLine = 2_000

export interface ComparisonProps {
  readonly keptBase64: string
  readonly otherBase64: string
}

/** Two bodies on lines of their own beside each other; the lines that differ are marked, and said. */
export function Comparison({ keptBase64, otherBase64 }: ComparisonProps) {
  const compared = useMemo(() => compare(keptBase64, otherBase64), [keptBase64, otherBase64])
  return (
    <>
      <p role="status" className="bulk-about">
        {compared.text}
      </p>
      <div className="conflicts-box" role="region" aria-label="Both bodies, line by line" tabIndex={0}>
        <div className="conflicts-row conflicts-head">
          <strong>Kept: the first that came</strong>
          <strong>Refused: the other one</strong>
        </div>
        <ol className="conflicts-lines">
          {compared.rows.map((row, index) => (
            // Lines have nothing else that tells one from the other, and do not move.
            <li key={index}>{row.kind === 'folded' ? <Folded lines={row.lines} /> : <Line row={row} />}</li>
          ))}
        </ol>
      </div>
    </>
  )
}

function Folded({ lines }: { readonly lines: number }) {
  return <p className="ui-dimmed ui-note">… {formatCount(lines)} lines …</p>
}

function Line({ row: { kind, left, right } }: { readonly row: Exclude<ShownRow, { kind: 'folded' }> }) {
  return (
    <div className={`conflicts-row conflicts-${kind}`}>
      <Side mark={kind === 'same' ? null : '−'} said="Kept: " line={left} />
      <Side mark={kind === 'same' ? null : '+'} said="Refused: " line={right} />
    </div>
  )
}

interface SideProps {
  /** Null: both sides are the same. */
  readonly mark: string | null
  readonly said: string
  readonly line: string | null
}

function Side({ mark, said, line }: SideProps) {
  if (line === null) return <span className="conflicts-side" />
  const text = toVisible(line.length > mostLine ? `${line.slice(0, mostLine)}…` : line)
  if (mark === null) return <code className="conflicts-side">{text}</code>
  return (
    <mark className="conflicts-side">
      <span className="ui-hidden">{said}</span>
      <span aria-hidden="true" className="conflicts-sign">
        {mark}
      </span>
      <code>{text}</code>
    </mark>
  )
}

function compare(keptBase64: string, otherBase64: string) {
  const [kept, other] = [fromBase64(keptBase64), fromBase64(otherBase64)]
  const isCut = kept.length > mostBytes || other.length > mostBytes
  const lines = (bytes: Uint8Array) => indentJson(toText(bytes.subarray(0, mostBytes)))
  const diff = diffLines(lines(kept), lines(other))
  return { rows: foldRows(diff.rows, mostRows), text: inWords(diff, isCut) }
}

function inWords({ rows, isExact }: Diff, isCut: boolean): string {
  const count = (wanted: string) => rows.filter(({ kind }) => kind === wanted).length
  const [changed, left, right] = [count('changed'), count('left'), count('right')]
  const cut = isCut ? ` Only the first ${formatCount(mostBytes)} bytes of each were compared.` : ''
  if (changed + left + right === 0)
    return `No line differs: the two are written differently (white space), and say the same.${cut}`
  const parts = [
    ...(changed > 0 ? [`${formatCount(changed)} changed`] : []),
    ...(left > 0 ? [`${formatCount(left)} only in the kept one`] : []),
    ...(right > 0 ? [`${formatCount(right)} only in the refused one`] : []),
  ]
  const rough = isExact ? '' : ' There is too much of it to find out which lines belong together.'
  return `Lines that differ: ${parts.join(', ')}.${rough}${cut}`
}
