import { idsOf, judgeAccepted } from '../judge.ts'
import { defineScenario } from '../port.ts'

const deliveries = 20

/** One event that is delivered many times at the same time. */
export const atOnce = defineScenario({
  name: 'at-once',
  checks: {
    answers: { rule: 'A52', title: '20 deliveries of one event at the same time are all acknowledged' },
    effects: { rule: 'R88', title: 'an event that came 20 times at once is done once', needs: ['effects'] },
  },
  async run({ newEvent, deliver, effects, timeoutMs }, tell) {
    const event = newEvent()
    const sent = `one event ${deliveries} times at once`
    const answers = await Promise.all(Array.from({ length: deliveries }, () => deliver(event)))
    tell('answers', judgeAccepted({ sent, answers, timeoutMs }))
    const todo = 'let a unique key of the store decide which delivery is the first, not a look-up before the insert'
    tell('effects', await effects({ sent, once: idsOf([{ event, answers }]), todo }))
  },
})
