import { idsOf, judgeAccepted } from '../judge.ts'
import { defineScenario, type Answer } from '../port.ts'

const deliveries = 4

/** One event that is delivered several times, one after the other. */
export const repeated = defineScenario({
  name: 'repeated',
  checks: {
    answers: { rule: 'R90', title: 'every delivery of one event is acknowledged' },
    effects: { rule: 'R88', title: 'an event that was delivered several times is done once', needs: ['effects'] },
  },
  async run({ newEvent, deliver, effects, timeoutMs }, tell) {
    const event = newEvent()
    const sent = `one event ${deliveries} times, one after the other`
    const answers: Answer[] = []
    for (let n = 0; n < deliveries; n++) answers.push(await deliver(event))
    const todo = 'answer 200 to an id that is known: a refusal makes the service send it again'
    tell('answers', judgeAccepted({ sent, answers, timeoutMs, ...(isKnown(answers) && { todo }) }))
    const advice =
      'keep the ids of events under a unique key, and do the work of an event for the delivery that got the key'
    tell('effects', await effects({ sent, once: idsOf([{ event, answers }]), todo: advice }))
  },
})

/** Whether the first one was taken and a later one refused. */
function isKnown([first, ...later]: readonly Answer[]): boolean {
  return first?.status === 200 && later.some(({ status }) => status !== null && status >= 400 && status < 500)
}
