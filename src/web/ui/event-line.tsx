import { toPlainNumbers } from '../../base/exact-json.ts'
import { describeEvent } from '../../dispatch/format.ts'

export interface EventLineProps {
  readonly type: string
  /** As received. Exact numbers are rounded. */
  readonly data: unknown
}

/** An event in one sentence, as in a log; nothing for an undocumented type or without data. */
export function EventLine({ type, data }: EventLineProps) {
  if (typeof data !== 'object' || data === null) return null
  const { title } = describeEvent({
    id: '',
    type,
    created_at: '',
    data: toPlainNumbers(data) as Record<string, unknown>,
  })
  return title !== type && <bdi>{title}</bdi>
}
