import { idsOf, judgeAccepted } from '../judge.ts'
import { defineScenario, type Answer, type ScenarioContext, type TestEvent, type WriteBytes } from '../port.ts'

const rounds = 3
const deliveries = 20
/** How long it waits for slow connections before the last byte is sent. */
const readyLimitMs = 1_000

/** As close to each other as possible: of every delivery the last byte is held back until the others have come as far. */
export const race = defineScenario({
  name: 'race',
  checks: {
    answers: { rule: 'A52', title: 'deliveries of one event that end in the same moment are all acknowledged' },
    effects: { rule: 'R88', title: 'events whose deliveries end in the same moment are done once', needs: ['effects'] },
  },
  async run(context, tell) {
    const { newEvent, effects, timeoutMs } = context
    const sent = `${rounds} events, each ${deliveries} times with the last bytes in the same moment`
    const series: { readonly event: TestEvent; readonly answers: readonly Answer[] }[] = []
    for (let round = 0; round < rounds; round++) {
      const event = newEvent()
      series.push({ event, answers: await deliverTogether(context, event) })
    }
    const answers = series.flatMap((one) => one.answers)
    tell('answers', judgeAccepted({ sent, answers, timeoutMs }))
    const todo = 'let a unique key of the store decide which delivery is the first, not a look-up before the insert'
    tell('effects', await effects({ sent, once: idsOf(series), todo }))
  },
})

function deliverTogether({ deliver, wait }: ScenarioContext, event: TestEvent): Promise<readonly Answer[]> {
  const ready = Promise.withResolvers<void>()
  let left = deliveries
  const start = Promise.race([ready.promise, wait(readyLimitMs)])
  const pace = async (write: WriteBytes) => {
    await write(event.body.subarray(0, -1))
    if (--left === 0) ready.resolve()
    await start
    await write(event.body.subarray(-1))
  }
  return Promise.all(Array.from({ length: deliveries }, () => deliver(event, { pace })))
}
