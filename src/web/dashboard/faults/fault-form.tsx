import { filledIn, toList, toNumber, Form, type Field, type ValueOf } from '../../ui/form.tsx'
import type { FaultKind } from '../contract.ts'

const keyOf = ({ direction, kind }: FaultKind) => `${direction} ${kind}`
/** Parameters and limits of a rule may have the same name. */
const parameter = (name: string) => `fault.${name}`

/** Adds a rule. The server describes the parameters of each kind. */
export function FaultForm({ kinds }: { readonly kinds: readonly FaultKind[] }) {
  const kindOf = (value: ValueOf) => kinds.find((kind) => keyOf(kind) === value('kind')) ?? kinds[0]
  return (
    <Form
      submit="Add rule"
      isRow
      fields={(value) => fieldsOf(kinds, kindOf(value))}
      run={async ({ api, value }) => {
        const kind = kindOf(value)
        if (kind !== undefined) await api.send('POST', '/faults', toRule(kind, value))
        return 'Rule added.'
      }}
    />
  )
}

/** Limits of every rule, and of one direction. */
const limits = [
  { name: 'rate', label: 'Rate', description: '0 to 1; empty: always', isOptional: true },
  { name: 'script', label: 'Script', description: 'x applies, . skips: x.x..', isOptional: true },
  { name: 'times', label: 'Times', description: 'Maximum; empty: no limit', isOptional: true },
] as const satisfies readonly Field[]
const limitsOf: Readonly<Record<FaultKind['direction'], readonly Field[]>> = {
  in: [{ name: 'path', label: 'Path', description: 'Such as /v1/tokens*; empty: all', isOptional: true }, ...limits],
  out: [
    { name: 'endpoint', label: 'Endpoint', description: 'Id or URL; empty: all', isOptional: true },
    { name: 'types', label: 'Event types', description: 'Such as wallet.*; empty: all', isOptional: true },
    ...limits,
  ],
}

function fieldsOf(kinds: readonly FaultKind[], kind: FaultKind | undefined): readonly Field[] {
  const choices = kinds.map((each) => ({
    value: keyOf(each),
    label: each.direction === 'out' ? each.kind : `REST: ${each.kind}`,
  }))
  return [
    { name: 'kind', label: 'Kind', description: kind?.about, choices },
    ...(kind?.parameters ?? []).map(({ name, about, default: preset, choices: values }): Field => ({
      name: parameter(name),
      label: name,
      description: about,
      isOptional: true,
      ...(values === undefined
        ? { placeholder: toText(preset) }
        : { choices: values.map(toText), initial: toText(preset) }),
    })),
    ...limitsOf[kind?.direction ?? 'out'],
  ]
}

/** The rule of a form, without empty fields. */
export function toRule({ kind, direction, parameters }: FaultKind, value: ValueOf): object {
  const fault = parameters.flatMap(({ name, default: preset }) => {
    const text = value(parameter(name))
    return text === '' ? [] : [[name, toValue(text, preset)]]
  })
  const types = toList(value('types'))
  return {
    direction,
    fault: { kind, ...(Object.fromEntries(fault) as object) },
    ...filledIn(value, 'endpoint', 'path', 'script'),
    ...(types.length > 0 && { types }),
    ...(value('rate') !== '' && { rate: toNumber(value('rate')) }),
    ...(value('times') !== '' && { times: toNumber(value('times')) }),
  }
}

/** A value of the same type as the default. */
function toValue(text: string, preset: unknown): unknown {
  if (typeof preset === 'number') return toNumber(text)
  return typeof preset === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}

function toText(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
