import { internalLabel } from '../../inbox/port.ts'
import { ladderMs } from '../../base/ladder.ts'
import type { Before, Finding, ProcessFacts, StoredFacts } from '../facts.ts'
import { lengthText, timeText } from '../words.ts'
import { authenticIn } from './sender.ts'

const dayMs = 24 * 3_600_000
const unusedMs = 7 * dayMs
/** Fewer may be anybody's. */
const fewestMismatches = 5

/** Secrets that are there for nothing, and one that is gone too early. */
export function findSecretWarnings(facts: ProcessFacts, stored: StoredFacts, before: Before): Finding[] {
  return [...unused(facts, stored), ...goneInUse(facts, stored, before)]
}

function unused({ now, startedAt, secretLabels }: ProcessFacts, { secretUses }: StoredFacts): Finding[] {
  const lastUseOf = (label: string) => secretUses.find((use) => use.label === label)?.lastAt
  const isInUse = secretLabels.some((label) => now - (lastUseOf(label) ?? 0) < dayMs)
  if (!isInUse) return []
  return secretLabels.map((label): Finding => {
    const lastAt = lastUseOf(label)
    // Of one that never was used nobody knows since when it is there.
    if (now - (lastAt ?? startedAt) < (lastAt === undefined ? dayMs : unusedMs)) return null
    return {
      code: 'secret_unused',
      subject: label,
      level: 'info',
      title: `The secret ${label} has verified nothing ${lastAt === undefined ? 'yet' : `for ${lengthText(now - lastAt)}`}, while another one does`,
      text:
        lastAt === undefined
          ? 'If it is to take the place of the other one, the service does not sign with it yet: set it there. Else take it out.'
          : `Its last event came at ${timeText(lastAt)}. If another one has taken its place, the rotation is done: take it out of the secrets.`,
      href: '/settings',
    }
  })
}

/**
 * One that is gone, and had been used so lately that what it signed may still be tried again. A wrong signature alone says nothing, since
 * anybody can send one: only where several come and nothing authentic does, the sender most likely still signs with it.
 */
function goneInUse(facts: ProcessFacts, { secretUses }: StoredFacts, before: Before): Finding[] {
  const { now, secretLabels } = facts
  return secretUses
    .filter(({ label, lastAt }) => label !== internalLabel && !secretLabels.includes(label) && now - lastAt < ladderMs)
    .map(({ label, lastAt }) => {
      const isMissed = isSecretMissed(facts, before.level('secret_gone_in_use', label) === 'critical')
      return {
        code: 'secret_gone_in_use',
        subject: label,
        level: isMissed ? 'critical' : 'info',
        title: `The secret ${label} is gone, and verified events until ${lengthText(Math.max(0, now - lastAt))} ago`,
        text: isMissed
          ? 'Requests are rejected for their signature, and nothing authentic comes: the sender most likely still signs with it. Put it ' +
            'back until it no longer does.'
          : 'If the sender still signs with it, its deliveries are rejected from now on: then put it back. Else there is nothing to do.',
        href: '/rejects',
      }
    })
}

/** In the last five minutes or, since hours may lie between two attempts of the sender, in the last hour. It ends when something authentic comes. */
function isSecretMissed(facts: ProcessFacts, isOn: boolean): boolean {
  const { lately, lastHour, mismatches, mismatchesLastHour } = facts
  if (isOn) return mismatchesLastHour > 0 && authenticIn(lately) === 0
  return (
    (mismatches >= fewestMismatches && authenticIn(lately) === 0) ||
    (mismatchesLastHour >= fewestMismatches && authenticIn(lastHour) === 0)
  )
}
