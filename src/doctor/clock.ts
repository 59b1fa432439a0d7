import { messageOf } from '../errors.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

/** What time another machine has: its Date header, read between two times of this one. Milliseconds since 1970. */
export interface OtherClock {
  readonly askedAt: number
  readonly answeredAt: number
  /** Whole seconds, cut off. */
  readonly date: number
}

const firstYear = 2026
const lastYear = 2100
/** A Date header has whole seconds, and the answer took its time. */
const bearableMs = 5_000
const timeoutMs = 5_000

/** By how much this clock is ahead of the other: 0 as long as both can be right. Milliseconds. */
export function skewOf({ askedAt, answeredAt, date }: OtherClock): number {
  if (askedAt >= date + 1_000) return askedAt - (date + 1_000)
  return answeredAt < date ? answeredAt - date : 0
}

/** Whether the time of this machine can be right, by itself and beside that of the service, if it was asked. */
export function judgeClock(now: number, other: OtherClock | null): Finding {
  const date = new Date(now)
  const year = date.getUTCFullYear()
  if (year < firstYear || year >= lastYear) {
    return fail(
      'clock',
      `it is the year ${year} here`,
      'set the clock (timedatectl set-ntp true): times of arrival, retries and retention go by it',
    )
  }
  const time = date.toISOString()
  if (other === null) return ok('clock', `${time}; with INBOX_API_URL set it is compared with that of the service`)
  const skewMs = skewOf(other)
  if (Math.abs(skewMs) <= bearableMs) return ok('clock', `${time}, as at the service`)
  const much = `${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of the service`
  return warn(
    'clock',
    `${time}, ${much}`,
    'have it set by NTP (timedatectl set-ntp true): what doctor says of lost events is wrong by as much',
  )
}

/** Looks at the clock, and asks the service for its time, where there is a URL of it; nothing secret is sent. */
export async function examineClock(apiUrl: string | undefined, now: () => number): Promise<Finding[]> {
  if (apiUrl === undefined) return [judgeClock(now(), null)]
  try {
    const askedAt = now()
    const response = await fetch(apiUrl, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const answeredAt = now()
    const date = Date.parse(response.headers.get('date') ?? '')
    const isTold = !Number.isNaN(date)
    return [judgeClock(answeredAt, isTold ? { askedAt, answeredAt, date } : null)]
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? messageOf(error.cause) : messageOf(error)
    return [
      judgeClock(now(), null),
      warn('service', `no answer from ${new URL(apiUrl).origin} (${reason})`, 'check INBOX_API_URL and the network'),
    ]
  }
}
