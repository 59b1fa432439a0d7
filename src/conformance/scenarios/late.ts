import { deliverMany } from '../deliver-many.ts'
import { idsOf, judgeAccepted } from '../judge.ts'
import { defineScenario } from '../port.ts'

/** A delivery that is repeated when much has happened since: the last retry of the service comes 10 h 36 min after the first. */
export const late = defineScenario({
  name: 'late',
  checks: {
    answers: { rule: 'R90', title: 'an event that comes again after many others is acknowledged' },
    effects: { rule: 'R88', title: 'an event that comes again after many others is done once', needs: ['effects'] },
  },
  async run(context, tell) {
    const { newEvent, deliver, effects, many, timeoutMs } = context
    const event = newEvent()
    const sent = `one event, ${many} others, and the first one again`
    const first = await deliver(event)
    await deliverMany(context)
    const answers = [first, await deliver(event)]
    tell('answers', judgeAccepted({ sent, answers, timeoutMs }))
    const todo = 'keep the ids of events for 30 days, in a store rather than in a list of the last ones'
    tell('effects', await effects({ sent, once: idsOf([{ event, answers }]), todo }))
  },
})
