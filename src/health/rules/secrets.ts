import { internalLabel, sourceOf } from '../../inbox/port.ts'
import { slackMs } from '../../base/retry-schedule.ts'
import type { Previous, Finding, ProcessFacts, SenderFacts, StoredFacts } from '../facts.ts'
import { retryWindowMs } from '../senders.ts'
import { lengthText, timeText } from '../words.ts'
import { authenticIn } from './sender.ts'
import { dayMs } from '../../base/clock.ts'

const unusedMs = 7 * dayMs
/** Fewer mismatches may come from anyone. */
const minMismatches = 5

/** Warnings about unused secrets, and about removed secrets that are still in use. */
export function findSecretWarnings(facts: ProcessFacts, stored: StoredFacts, before: Previous): Finding[] {
  return [...unused(facts, stored), ...removedInUse(facts, stored, before)]
}

function unused({ secretLabels, ...facts }: ProcessFacts, stored: StoredFacts): Finding[] {
  const bySource = Map.groupBy(secretLabels, (secretLabel) => sourceOf({ secretLabel }))
  return [...bySource.values()].flatMap((labels) => unusedOf(labels, facts, stored))
}

/** `secretLabels`: labels of one source. */
function unusedOf(
  secretLabels: readonly string[],
  { now, startedAt }: Pick<ProcessFacts, 'now' | 'startedAt'>,
  { secretUses }: StoredFacts,
): Finding[] {
  const lastUseOf = (label: string) => secretUses.find((use) => use.label === label)?.lastAt
  const isInUse = secretLabels.some((label) => now - (lastUseOf(label) ?? 0) < dayMs)
  if (!isInUse) return []
  return secretLabels.map((label): Finding => {
    const lastAt = lastUseOf(label)
    // It is unknown since when a never used secret is configured.
    if (now - (lastAt ?? startedAt) < (lastAt === undefined ? dayMs : unusedMs)) return null
    return {
      code: 'secret_unused',
      subject: label,
      level: 'info',
      title: `The secret ${label} is unused ${lastAt === undefined ? 'yet' : `for ${lengthText(now - lastAt)}`}, another one is used`,
      text:
        lastAt === undefined
          ? 'If it is meant to replace the other one, set it in the upstream, which does not sign with it yet. Otherwise remove it.'
          : `Its last event arrived at ${timeText(lastAt)}. If another one replaced it, the rotation is done: remove it from the secrets.`,
      href: '/system',
    }
  })
}

/**
 * Finds removed secrets whose last use is so recent that their deliveries may be retried. A wrong signature alone
 * proves nothing, since anyone can send one. If several arrive and no authentic delivery does, the sender most likely
 * still signs with the secret. Fetched keys are not secrets.
 */
function removedInUse(facts: ProcessFacts, { secretUses }: StoredFacts, before: Previous): Finding[] {
  const { now, secretLabels } = facts
  return secretUses
    .filter(({ label }) => label !== internalLabel && !secretLabels.includes(label))
    .flatMap(({ label, lastAt }) => {
      const ofSource = facts.senders.find(({ sender }) => sender.source === sourceOf({ secretLabel: label }))
      if (ofSource === undefined || ofSource.sender.secretsSetting === null) return []
      if (now - lastAt >= (retryWindowMs(ofSource.sender) ?? dayMs) + slackMs) return []
      const isInUse = isStillInUse(ofSource, before.level('secret_gone_in_use', label) === 'critical')
      return {
        code: 'secret_gone_in_use',
        subject: label,
        level: isInUse ? 'critical' : 'info',
        title: `The secret ${label} was removed; its last event was verified ${lengthText(Math.max(0, now - lastAt))} ago`,
        text: isInUse
          ? 'Signatures are rejected, and no authentic delivery arrives: the sender most likely still signs with it. Add it ' +
            'again until the sender uses another one.'
          : 'If the sender still signs with it, its deliveries are rejected: add it again. Otherwise there is nothing to do.',
        href: '/deliveries/rejected',
      } as const
    })
}

/** Checks the last five minutes and, since retries may be hours apart, the last hour. Ends with an authentic delivery. */
function isStillInUse(facts: SenderFacts, isOn: boolean): boolean {
  const { lastMinutes, lastHour, mismatches, mismatchesLastHour } = facts
  if (isOn) return mismatchesLastHour > 0 && authenticIn(lastMinutes) === 0
  return (
    (mismatches >= minMismatches && authenticIn(lastMinutes) === 0) ||
    (mismatchesLastHour >= minMismatches && authenticIn(lastHour) === 0)
  )
}
