import { isAccepted } from '../judge.ts'
import { defineScenario } from '../port.ts'

const events = 10

/** Events about one wallet, each sent when the one before is acknowledged. The service promises no order; many receivers do. */
export const order = defineScenario({
  name: 'order',
  checks: {
    effects: {
      rule: 'P4',
      title: 'events of one wallet are done in the order of their acknowledgements',
      needs: ['effects'],
    },
  },
  async run({ newEvent, deliver, effects }, tell) {
    const first = newEvent()
    const { data } = JSON.parse(first.body.toString()) as { data: { wallet_address: string } }
    const series = [first, ...Array.from({ length: events - 1 }, () => newEvent({ wallet: data.wallet_address }))]
    const ids: string[] = []
    for (const event of series) if (isAccepted(await deliver(event), Infinity)) ids.push(event.id)
    const sent = `${events} events of one wallet, each after the acknowledgement of the one before`
    const todo =
      'do the work of one wallet one after the other, in the order in which it was accepted (or --skip order)'
    tell('effects', await effects({ sent, inOrder: ids, todo }))
  },
})
