// Checked by `tsc -p tsconfig.json`; nothing here runs.
import type { AnyEvent, EventOf, EventType, KnownEvent, UnknownEvent } from '../../schema/index.ts'
import type { SourceEventOf } from '../../schema/sources/index.ts'
import { isKnownEvent } from '../../schema/index.ts'
import { defineHandler, type HandlerContext } from '../../src/dispatch/define.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function expectTrue<T extends true>(): T
declare function expectType<T>(): <A>(value: A, ...same: Equal<A, T> extends true ? [] : ['types differ', A, T]) => void

// R96: one type gives its own event
defineHandler({
  type: 'wallet.large_trade',
  run(event, ctx) {
    expectType<'wallet.large_trade'>()(event.type)
    expectType<number>()(event.data.amount_usd)
    expectType<string>()(event.data.wallet_address)
    expectType<Uint8Array>()(event.raw)
    expectType<string | undefined>()(event.exact('data.amount_usd'))
    expectType<HandlerContext>()(ctx)
    expectType<AbortSignal>()(ctx.signal)
    // @ts-expect-error a misspelt field
    void event.data.amount_used
  },
})

// R93, R104: enumerations are typed
defineHandler({
  type: 'token.price_alert',
  run: (event) => expectType<'price_above' | 'price_below'>()(event.data.alert_type),
})

// R98, R102: a list gives a union that narrows on event.type
defineHandler({
  type: ['wallet.pnl_milestone', 'pump.graduation'],
  async run(event) {
    expectType<'wallet.pnl_milestone' | 'pump.graduation'>()(event.type)
    if (event.type === 'pump.graduation') {
      expectType<boolean>()(event.data.bonding_curve_completed)
    } else {
      expectType<number>()(event.data.milestone_usd)
    }
    // @ts-expect-error only one of the two has it
    void event.data.milestone_usd
    await Promise.resolve()
  },
})

// R96–R98: a prefix gives the union of the types under it
defineHandler({
  type: 'wallet.*',
  run(event) {
    expectType<'wallet.large_trade' | 'wallet.new_position' | 'wallet.pnl_milestone'>()(event.type)
    expectType<string>()(event.data.wallet_address)
    if (event.type === 'wallet.new_position') expectType<number>()(event.data.entry_price_usd)
  },
})

// R127: '*' includes the unknown
defineHandler({
  type: '*',
  run(event) {
    expectType<string>()(event.type)
    if (isKnownEvent(event)) {
      expectType<EventType>()(event.type)
      if (event.type === 'token.risk_change') expectType<string[]>()(event.data.triggered_checks)
    } else {
      expectType<Record<string, unknown>>()(event.data)
    }
  },
})

// R127: a type that is not documented yet
defineHandler({
  type: 'token.volume_spike',
  run(event) {
    expectType<unknown>()(event.data.anything)
  },
})

expectTrue<Equal<EventOf<'*'>, AnyEvent>>()
expectTrue<Equal<EventOf<string>, AnyEvent>>()
expectTrue<Equal<EventOf<EventType>, KnownEvent>>()
expectTrue<Equal<EventOf<'token.volume_spike'>, UnknownEvent>>()
expectTrue<Equal<EventOf<'other.*'>, UnknownEvent>>()
expectTrue<Equal<EventOf<'pump.*'>, EventOf<'pump.graduation'>>>()
expectTrue<Equal<EventOf<readonly ['pump.graduation', 'wallet.*']>, EventOf<'pump.graduation' | 'wallet.*'>>>()
expectTrue<Equal<EventOf<'token.new_listing'>['data']['name'], string>>()

defineHandler({
  type: 'pump.graduation',
  name: 'graduations',
  order: 'none',
  concurrency: 2,
  timeoutMs: 1000,
  retry: { attempts: 3 },
  run: (event) => console.log(event.data.symbol),
})

// @ts-expect-error an unknown option
defineHandler({ type: 'pump.graduation', run: () => {}, concurency: 2 })
// @ts-expect-error run is missing
defineHandler({ type: 'pump.graduation' })
// @ts-expect-error an order that does not exist
defineHandler({ type: 'pump.graduation', run: () => {}, order: 'fifo' })

// A source without a provider has unknown data.
defineHandler({
  source: 'desk',
  type: 'fill',
  run(event) {
    expectType<unknown>()(event.data)
    expectType<string>()(event.source)
    expectType<string>()(event.uid)
    expectType<string>()(event.createdAt)
  },
})

// A provider gives the data its type.
defineHandler({
  source: 'alchemy',
  provider: 'alchemy',
  type: 'ADDRESS_ACTIVITY',
  run(event) {
    expectType<SourceEventOf<'alchemy', 'ADDRESS_ACTIVITY'>>()(event.data)
    // @ts-expect-error a misspelt field
    void event.data.evnt
  },
})

// All sources include the default one, so nothing is known about the data.
defineHandler({ source: '*', type: 'wallet.large_trade', run: (event) => expectType<unknown>()(event.data) })
