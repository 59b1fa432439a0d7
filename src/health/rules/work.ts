import { orphanedHandlers, type HandlerStats } from '../../inbox/port.ts'
import type { Previous, Finding, ProcessFacts, StoredFacts } from '../facts.ts'
import { countText, lengthText } from '../words.ts'
import { hourMs, minuteMs } from '../../base/clock.ts'

/** Older items cause no warning. */
const newsMs = 24 * hourMs
const backlogAge = { on: 15 * minuteMs, off: 10 * minuteMs }
const longPauseMs = hourMs
const longOpenMs = 5 * minuteMs

/** Warnings about pending work and paused or failing handlers. */
export function findWorkWarnings(facts: ProcessFacts, stored: StoredFacts, before: Previous): Finding[] {
  const { handlers } = stored.stats
  return [
    backlog(facts, stored, before),
    ...handlers.map((row) => deadLetters(facts, stored, row, before)),
    ...handlers.map(blockedKeys),
    quarantine(facts, stored),
    ...paused(facts, stored, before),
    ...notLoaded(facts, stored),
    ...openBreakers(facts),
  ]
}

function backlog({ now }: ProcessFacts, { stats }: StoredFacts, before: Previous): Finding {
  const { oldestOpenAt, paused: isPaused } = stats
  const limit = before.since('backlog_old') === null ? backlogAge.on : backlogAge.off
  if (oldestOpenAt === null || isPaused || now - oldestOpenAt < limit) return null
  return {
    code: 'backlog_old',
    level: 'warning',
    title: `The oldest pending run has waited for ${lengthText(now - oldestOpenAt)}`,
    text:
      'A handler is too slow, keeps failing, or is paused or not loaded. The Handlers page shows which ' +
      'queue is long and how its attempts end. Events are still accepted.',
    href: '/handlers',
  }
}

/** Keeps its level while the time of the newest dead letter is unknown. */
function deadLetters(
  { now }: ProcessFacts,
  { newestDeadAt }: StoredFacts,
  row: HandlerStats,
  before: Previous,
): Finding {
  const count = row.dead + row.held
  if (count === 0) return null
  const diedAt = newestDeadAt.get(row.handler)
  const isNews = diedAt === undefined ? before.level('dead_letters', row.handler) !== 'info' : now - diedAt < newsMs
  return {
    code: 'dead_letters',
    subject: row.handler,
    level: isNews ? 'warning' : 'info',
    title: `${countText(count, 'dead letter')} of ${row.handler}`,
    text:
      'These runs failed for good and are not retried. Check their errors, which are grouped by similarity. Fix ' +
      'the handler, then requeue them, or drop them.',
    href: '/dead-letters',
  }
}

function blockedKeys({ handler, held }: HandlerStats): Finding {
  if (held === 0) return null
  return {
    code: 'held_keys',
    subject: handler,
    level: 'warning',
    title: `${countText(held, 'dead letter')} of ${handler} ${held === 1 ? 'blocks its key' : 'block their keys'}`,
    text:
      "With onDead: 'hold' a dead letter blocks later events of the same key. Requeue it once the cause is fixed, or " +
      'drop it to unblock the key.',
    href: '/dead-letters',
  }
}

function quarantine({ now }: ProcessFacts, { stats, newestQuarantinedAt }: StoredFacts): Finding {
  if (stats.quarantined === 0) return null
  const isNews = newestQuarantinedAt !== null && now - newestQuarantinedAt < newsMs
  return {
    code: 'quarantine',
    level: isNews ? 'warning' : 'info',
    title: `${countText(stats.quarantined, 'authentic body is', 'authentic bodies are')} in quarantine`,
    text:
      'They have a valid signature but are not usable events, so they were stored and not handled. Check one ' +
      'of each reason: the sender is faulty, or its format changed. If a newer version can read them, retry them.',
    href: '/deliveries/quarantine',
  }
}

/** An operator paused them. A long pause may have been forgotten. */
function paused({ now }: ProcessFacts, { stats }: StoredFacts, before: Previous): Finding[] {
  const names = stats.handlers.filter((row) => row.paused).map(({ handler }) => handler)
  const found = (subject: string, whoIs: string): Finding => {
    const since = before.since('paused', subject)
    return {
      code: 'paused',
      subject,
      level: since !== null && now - since > longPauseMs ? 'warning' : 'info',
      title: `${whoIs} paused`,
      text: 'Runs wait until the handler is resumed. Events are still accepted.',
      href: '/handlers',
    }
  }
  return [...(stats.paused ? [found('', 'All handlers are')] : []), ...names.map((name) => found(name, `${name} is`))]
}

function notLoaded({ handlers }: ProcessFacts, { stats }: StoredFacts): Finding[] {
  return orphanedHandlers(
    stats.handlers,
    handlers.map((name) => ({ name })),
  ).map(({ handler, openRuns }) => ({
    code: 'not_loaded',
    subject: handler,
    level: 'warning',
    title: `${countText(openRuns, 'run')} ${openRuns === 1 ? 'waits' : 'wait'} for ${handler}, which is not loaded`,
    text: `It was renamed or removed. Restore it under that name, or end its runs: onchain-inbox handlers drop ${handler} --reason "…".`,
    href: '/handlers',
  }))
}

function openBreakers({ openBreakers: open, now }: ProcessFacts): Finding[] {
  return [...open]
    .filter(([, { reason, since }]) => reason === 'breaker' && now - since > longOpenMs)
    .map(([name, { since, failures }]) => ({
      code: 'sink_shut',
      subject: name,
      level: 'warning',
      title: `The sink ${name} has been failing for ${lengthText(now - since)}`,
      text:
        `${countText(failures, 'send')} failed in a row. One item is sent as a trial from time to time; all others wait, and none is lost. The ` +
        'Handlers page shows the last error: fix its cause, and sending resumes.',
      href: '/handlers',
    }))
}
