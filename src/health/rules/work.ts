import { orphanedHandlers, type HandlerStats } from '../../inbox/port.ts'
import type { Before, Finding, ProcessFacts, StoredFacts } from '../facts.ts'
import { countText, lengthText } from '../words.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** What is older is known, and nobody is told of it again. */
const newsMs = 24 * hourMs
const old = { on: 15 * minuteMs, off: 10 * minuteMs }
const longPauseMs = hourMs
const longShutMs = 5 * minuteMs

/** What waits for somebody, or for too long. */
export function findWorkWarnings(facts: ProcessFacts, stored: StoredFacts, before: Before): Finding[] {
  const { handlers } = stored.stats
  return [
    backlog(facts, stored, before),
    ...handlers.map((row) => deadLetters(facts, stored, row, before)),
    ...handlers.map(heldKeys),
    quarantine(facts, stored),
    ...paused(facts, stored, before),
    ...notLoaded(facts, stored),
    ...shutSinks(facts),
  ]
}

function backlog({ now }: ProcessFacts, { stats }: StoredFacts, before: Before): Finding {
  const { oldestOpenAt, paused: isPaused } = stats
  const limit = before.since('backlog_old') === null ? old.on : old.off
  if (oldestOpenAt === null || isPaused || now - oldestOpenAt < limit) return null
  return {
    code: 'backlog_old',
    level: 'warning',
    title: `The oldest open work has waited for ${lengthText(now - oldestOpenAt)}`,
    text:
      'A handler is slower than events come, fails and is tried again, or is paused or not loaded. The page of handlers shows whose ' +
      'queue is long and how its attempts end. Events go on being accepted meanwhile.',
    href: '/handlers',
  }
}

/** Where it is not known when the newest died, it is as it was. */
function deadLetters({ now }: ProcessFacts, { newestDeadAt }: StoredFacts, row: HandlerStats, before: Before): Finding {
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
      'These runs failed for good and are not tried again. Look at their errors, which are grouped by what they have in common; mend ' +
      'the handler, then requeue them; or drop those that no longer matter.',
    href: '/dead-letters',
  }
}

function heldKeys({ handler, held }: HandlerStats): Finding {
  if (held === 0) return null
  return {
    code: 'held_keys',
    subject: handler,
    level: 'warning',
    title: `${countText(held, 'dead letter')} of ${handler} ${held === 1 ? 'holds up its key' : 'hold up their keys'}`,
    text:
      "With onDead: 'hold' nothing of a wallet or token is handled behind a dead letter of it. Requeue it once the cause is mended, or " +
      'drop it: then its key goes on.',
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
      'They were signed with one of our secrets and are no usable event, so they were acknowledged, kept and not handled. Look at one ' +
      'of each reason: the sender has a fault, or its format has changed. A newer version of this program may read them: then retry.',
    href: '/quarantine',
  }
}

/** Somebody wanted it; only one that goes on for long may have been forgotten. */
function paused({ now }: ProcessFacts, { stats }: StoredFacts, before: Before): Finding[] {
  const names = stats.handlers.filter((row) => row.paused).map(({ handler }) => handler)
  const found = (subject: string, who: string): Finding => {
    const since = before.since('paused', subject)
    return {
      code: 'paused',
      subject,
      level: since !== null && now - since > longPauseMs ? 'warning' : 'info',
      title: `${who} paused`,
      text: 'Runs wait until somebody resumes them; events go on being accepted.',
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
    text: `It was renamed or removed. Bring it back under that name, or end its runs: onchain-inbox handlers drop ${handler} --reason "…".`,
    href: '/handlers',
  }))
}

function shutSinks({ shut, now }: ProcessFacts): Finding[] {
  return [...shut]
    .filter(([, { reason, since }]) => reason === 'breaker' && now - since > longShutMs)
    .map(([name, { since, failures }]) => ({
      code: 'sink_shut',
      subject: name,
      level: 'warning',
      title: `The sink ${name} has failed for ${lengthText(now - since)}`,
      text:
        `${countText(failures, 'send')} in a row failed. One item is tried now and then; all others wait, and none is lost. The page of ` +
        'handlers shows the last error: mend what it leads to, and it goes on by itself.',
      href: '/handlers',
    }))
}
