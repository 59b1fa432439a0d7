import { idsOf, judgeAccepted } from '../judge.ts'
import { defineScenario, failed, notChecked, passed, type Answer, type TestEvent } from '../port.ts'

const before = 3
const justBefore = 20
const undone = 'the events before the restart were not done to begin with'

/** How often an event is sent again, and when, while a receiver that has just started asks to be left alone (A50). */
const tries = 40
const pauseMs = 250

/** A restart, with events long before it and right before it. */
export const restart = defineScenario({
  name: 'restart',
  checks: {
    back: { rule: 'P7', title: 'the receiver answers again after a restart', needs: ['restart'] },
    answers: {
      rule: 'R90',
      title: 'an event from before a restart is acknowledged when it comes again',
      needs: ['restart'],
    },
    once: {
      rule: 'R90',
      title: 'an event that was done before a restart is not done again',
      needs: ['restart', 'effects'],
    },
    kept: { rule: 'P1', title: 'what was acknowledged right before a restart is done', needs: ['restart', 'effects'] },
  },
  async run({ newEvent, deliver, effects, restart: restartReceiver, wait, timeoutMs }, tell) {
    const known = Array.from({ length: before }, () => newEvent())
    const deliverAll = async (events: readonly TestEvent[]) => {
      const deliveries = []
      for (const event of events) deliveries.push({ event, answers: [await deliver(event)] })
      return deliveries
    }
    const knownIds = idsOf(await deliverAll(known))
    // Only what is done by then can be said to be done again.
    const done = await effects({ sent: 'events before a restart', done: knownIds, todo: '' })
    const fresh = Array.from({ length: justBefore }, () => newEvent())
    const accepted = idsOf(await deliverAll(fresh))

    const failure = await restartReceiver()
    tell(
      'back',
      failure === null
        ? passed('it answers')
        : failed({
            sent: 'the command of --restart',
            expected: 'an answer of the receiver afterwards',
            came: failure,
            todo: 'let the command end with 0 once the receiver is started, in the background, at the same --url',
          }),
    )
    if (failure !== null) {
      for (const check of ['answers', 'once', 'kept'] as const) tell(check, notChecked('it was not restarted'))
      return
    }
    const answers: Answer[] = []
    for (const event of known) {
      let answer = await deliver(event)
      for (let n = 1; n < tries && answer.status === 503; n++) {
        await wait(pauseMs)
        answer = await deliver(event)
      }
      answers.push(answer)
    }
    const sent = `${before} events, a restart, and the same events again`
    const todo = 'keep the ids of events in a store that outlives the process'
    tell('answers', judgeAccepted({ sent, answers, timeoutMs }))
    tell('once', done.verdict === 'passed' ? await effects({ sent, once: knownIds, todo }) : notChecked(undone))
    const keeping =
      'store an event, and have it on the disk, before its delivery is answered 2xx; note it as done after its work'
    tell('kept', await effects({ sent: `${justBefore} events, and a restart at once`, done: accepted, todo: keeping }))
  },
})
