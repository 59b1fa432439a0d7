import type { Answer, ScenarioContext, TestEvent } from './port.ts'

interface Delivered {
  readonly event: TestEvent
  readonly answer: Answer
}

/** How many connections it uses. */
export const connections = 50

/** Delivers the many new events of the run over several connections, on each of them one after the other. */
export async function deliverMany({ newEvent, deliver, many }: ScenarioContext): Promise<readonly Delivered[]> {
  const delivered: Delivered[] = []
  let begun = 0
  const work = async () => {
    while (begun < many) {
      begun++
      const event = newEvent()
      delivered.push({ event, answer: await deliver(event, { isPooled: true }) })
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  return delivered
}
