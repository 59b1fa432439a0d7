import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import type { FaultKind, FaultParameter } from '../contract-faults.ts'
import { toRule, type RuleInput } from './fault-rule.ts'

export interface FaultFormProps {
  readonly kinds: readonly FaultKind[]
  readonly onAdded: () => void
}

const keyOf = ({ direction, kind }: FaultKind) => `${direction} ${kind}`
const noLimits: RuleInput['limits'] = { endpoint: '', types: '', path: '', rate: '', script: '', times: '' }

/** Adds a rule of any kind: its fields are those that the server says the kind has. */
export function FaultForm({ kinds, onAdded }: FaultFormProps) {
  const api = useApiClient()
  const [chosen, setChosen] = useState(() => (kinds[0] === undefined ? '' : keyOf(kinds[0])))
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [limits, setLimits] = useState(noLimits)
  const { run, isBusy, error } = useAct()
  const kind = kinds.find((one) => keyOf(one) === chosen)
  if (kind === undefined) return null

  const limit = (name: keyof typeof noLimits, label: string, description: string) => (
    <TextInput
      className="ui-grow"
      label={label}
      description={description}
      value={limits[name]}
      onChange={(event) => setLimits({ ...limits, [name]: event.currentTarget.value })}
    />
  )
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      await api.send('POST', '/faults', toRule(kind, { values, limits }))
      setValues({})
      setLimits(noLimits)
      onAdded()
    })
  }

  return (
    <form className="ui-stack" onSubmit={add}>
      <NativeSelect
        label="Kind"
        description={kind.about}
        data={[
          { group: 'Deliveries', items: itemsOf(kinds, 'out') },
          { group: 'Answers of REST', items: itemsOf(kinds, 'in') },
        ]}
        value={chosen}
        onChange={(event) => {
          setChosen(event.currentTarget.value)
          setValues({})
        }}
      />
      <div className="ui-form ui-form-top">
        {kind.parameters.map((parameter) => (
          <ParameterInput
            key={parameter.name}
            parameter={parameter}
            value={values[parameter.name] ?? ''}
            onChange={(value) => setValues({ ...values, [parameter.name]: value })}
          />
        ))}
      </div>
      <div className="ui-form ui-form-top">
        {kind.direction === 'out' ? (
          <>
            {limit('endpoint', 'Endpoint', 'Id or URL; empty: all')}
            {limit('types', 'Event types', 'Such as wallet.*, token.risk_change; empty: all')}
          </>
        ) : (
          limit('path', 'Path', 'Such as /v1/tokens*; empty: all')
        )}
        {limit('rate', 'Rate', '0 to 1; empty: always')}
        {limit('script', 'Script', 'x strikes, . does not: x.x..')}
        {limit('times', 'Times', 'At most so often; empty: no end')}
      </div>
      <ErrorState error={error} />
      <Button type="submit" loading={isBusy} className="ui-start">
        Add the rule
      </Button>
    </form>
  )
}

function itemsOf(kinds: readonly FaultKind[], direction: FaultKind['direction']) {
  return kinds.filter((kind) => kind.direction === direction).map((kind) => ({ value: keyOf(kind), label: kind.kind }))
}

interface ParameterInputProps {
  readonly parameter: FaultParameter
  readonly value: string
  readonly onChange: (value: string) => void
}

function ParameterInput({ parameter, value, onChange }: ParameterInputProps) {
  const { name, about, choices } = parameter
  const preset = toText(parameter.default)
  if (choices !== undefined)
    return (
      <NativeSelect
        className="ui-grow"
        label={name}
        description={about}
        data={choices.map(toText)}
        value={value === '' ? preset : value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    )
  return (
    <TextInput
      className="ui-grow"
      label={name}
      description={about}
      placeholder={preset}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

function toText(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
