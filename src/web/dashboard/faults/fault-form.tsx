import type { FaultKind } from '../contract.ts'
import { Form, given, toNumber, type Field, type ValueOf } from '../form.tsx'

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
      run={async (api, value) => {
        const kind = kindOf(value)
        if (kind !== undefined) await api.send('POST', '/faults', toRule(kind, value))
        return 'Rule added.'
      }}
    />
  )
}

function fieldsOf(kinds: readonly FaultKind[], kind: FaultKind | undefined): readonly Field[] {
  const choices = kinds.map((one) => ({
    value: keyOf(one),
    label: one.direction === 'out' ? one.kind : `REST: ${one.kind}`,
  }))
  const limit = (name: string, label: string, description: string): Field => ({
    name,
    label,
    description,
    isOptional: true,
  })
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
    ...(kind?.direction === 'in'
      ? [limit('path', 'Path', 'Such as /v1/tokens*; empty: all')]
      : [
          limit('endpoint', 'Endpoint', 'Id or URL; empty: all'),
          limit('types', 'Event types', 'Such as wallet.*; empty: all'),
        ]),
    limit('rate', 'Rate', '0 to 1; empty: always'),
    limit('script', 'Script', 'x applies, . skips: x.x..'),
    limit('times', 'Times', 'Maximum; empty: no limit'),
  ]
}

/** The rule of a form, without empty fields. */
export function toRule({ kind, direction, parameters }: FaultKind, value: ValueOf): object {
  const fault = parameters.flatMap(({ name, default: preset }) => {
    const text = value(parameter(name))
    return text === '' ? [] : [[name, toValue(text, preset)]]
  })
  const types = value('types')
    .split(/[\s,]+/)
    .filter(Boolean)
  return {
    direction,
    fault: { kind, ...(Object.fromEntries(fault) as object) },
    ...given(value, 'endpoint', 'path', 'script'),
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
