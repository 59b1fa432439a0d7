import type { Clock } from '../../base/clock.ts'
import type { AttemptPlan } from '../faults/port.ts'
import type { Poster, PostResult } from '../post.ts'
import type { Endpoint, OutgoingEvent } from './port.ts'

/** One POST with what went wrong on purpose. */
export interface Posted extends PostResult {
  /** When it began, and when its outcome was known, on the world clock. */
  readonly at: number
  readonly endedAt: number
  readonly requestHeaders: Readonly<Record<string, string>>
}

const signatureHeader = 'X-Service-Signature'
const shownDigits = 8

interface Prepared {
  readonly endpoint: Endpoint
  readonly event: OutgoingEvent
  readonly plan: AttemptPlan
  /** Whether it may go to public addresses only. */
  readonly isPublicOnly: boolean
}

/**
 * Gives what POSTs an event as planned, once or several times: the bytes signed with the endpoint's present secret (A32), and no
 * further headers (R71, R72, A47).
 */
export function prepareEvent(
  poster: Poster,
  clock: Clock,
  { endpoint, event, plan, isPublicOnly }: Prepared,
): () => Promise<Posted> {
  const body = plan.alter(event.body)
  const signatures = plan.sign(body, endpoint.secret)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'onchain-inbox-emulator',
    ...(signatures.length > 0 && { [signatureHeader]: signatures }),
  }
  const sent = plan.tamper(body)
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    name === signatureHeader ? shorten(value) : value,
  ])
  const requestHeaders = Object.fromEntries(shown) as Readonly<Record<string, string>>
  const target = new URL(endpoint.url)

  return async () => {
    const at = clock.now()
    let endedAt: number | undefined
    const onOutcome = () => (endedAt ??= clock.now())
    const result = await poster.post(target, sent, headers, { wire: plan.wire, isPublicOnly, onOutcome })
    return { ...(plan.dropsAck ? dropAck(result) : result), at, endedAt: endedAt ?? clock.now(), requestHeaders }
  }
}

/** A signature stays valid for ever: whoever reads a log must not be able to send the event. */
function shorten(value: string | readonly string[]): string {
  return [value]
    .flat()
    .map((one) => `${one.slice(0, shownDigits)}…`)
    .join(', ')
}

function dropAck(result: PostResult): PostResult {
  if (!result.isAcknowledged) return result
  return { ...result, isAcknowledged: false, failure: `answered ${result.status}, which was dropped on purpose` }
}
