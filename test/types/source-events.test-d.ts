// Checked by `tsc -p tsconfig.json`; nothing here runs.
import type { AlchemyEvent, GoldskyEvent, HeliusEvent, QuickAlertsEvent, SourceEventOf } from '../../schema/index.ts'

declare function expectType<T>(): <A>(
  value: A,
  ...same: A extends T ? (T extends A ? [] : ['types differ']) : ['types differ']
) => void

declare const activity: SourceEventOf<'alchemy', 'ADDRESS_ACTIVITY'>
expectType<boolean | undefined>()(activity.event.activity[0]?.log?.removed)
// @ts-expect-error a misspelt field
void activity.event.activitys
// @ts-expect-error a misspelt field, deep inside
void activity.event.activity[0]?.hesh

// Other types have what all events of the provider have
declare const other: SourceEventOf<'alchemy', 'NEW_TYPE'>
expectType<string>()(other.id)
expectType<unknown>()(other.event)

// The type of a provider narrows by its discriminant
declare const alchemy: AlchemyEvent
if (alchemy.type === 'MINED_TRANSACTION') expectType<string>()(alchemy.event.transaction.blockHash)

declare const helius: HeliusEvent
expectType<string | undefined>()(helius[0]?.signature)
declare const goldsky: GoldskyEvent
// Columns of the user's entity
expectType<unknown>()(goldsky.data.new?.['amount'])
declare const alert: QuickAlertsEvent
expectType<unknown>()(alert)
