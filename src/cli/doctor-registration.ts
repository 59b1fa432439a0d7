import type { SubscriptionJson } from '../admin/answers/health.ts'
import type { LabelledSubscribe } from '../config/subscribe.ts'
import { ok, warn, type Finding } from '../doctor/finding.ts'
import { lookThere } from '../registration/describe.ts'
import { underWayMs } from '../registration/register.ts'
import { digestOf } from '../registration/wanted.ts'

const check = 'registration'

/**
 * The registration with the service, as one finding; none where there is none and none is `wanted`. `wanted`: the setting `subscribe`,
 * null where there is none, or it is not known.
 */
export function judgeRegistration(
  found: SubscriptionJson | null,
  wanted: LabelledSubscribe | null,
  now: number,
): readonly Finding[] {
  if (found === null) return wanted === null ? [] : [notRegistered]
  const { state, at, url } = withoutQuery(found)
  if (state === 'begun') {
    if (Math.abs(now - Date.parse(at)) < underWayMs) return [ok(check, `begun at ${at}: ${url}`)]
    return [warn(check, `begun at ${at}, and nobody knows how it ended: it may or may not be there`, lookThere(url))]
  }
  if (wanted !== null && digestOf({ ...wanted, secretLabel: wanted.secret }) !== found.digest) {
    const advice = '`onchain-inbox subscribe` says what differs, and what to do'
    return [warn(check, `registered since ${at}, for something else than the setting subscribe says`, advice)]
  }
  return [ok(check, `registered since ${at}: ${url}`)]
}

const notRegistered = warn(
  check,
  'not registered with the service, as the setting subscribe wants it',
  '`serve` does it once it listens, and says in its log if it cannot; `onchain-inbox subscribe` does it by hand',
)

/** In a few words. */
export function renderRegistration(found: SubscriptionJson | null): string {
  if (found === null) return '-'
  const { state, at, url } = withoutQuery(found)
  return `${state === 'begun' ? 'begun at' : 'since'} ${at}, ${url}`
}

/** A query may hold what is secret. */
function withoutQuery(found: SubscriptionJson): SubscriptionJson {
  return { ...found, url: found.url.replace(/[?#].*/s, '') }
}
