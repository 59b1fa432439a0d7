import { Button } from '@mantine/core'
import { useAction, type Api } from '../ui/api.tsx'
import { Facts } from '../ui/shell.tsx'
import { Failure } from '../ui/states.tsx'
import { shortText, Text } from '../ui/text.tsx'

export interface ChoicesProps {
  /** Begins the name of each button: `Start`. */
  readonly verb: string
  readonly choices: readonly { readonly name: string; readonly about: string }[]
  readonly run: (api: Api, name: string) => Promise<unknown>
  /** Shown once done. */
  readonly doneText: (name: string) => string
}

/** A button for each choice, with its description. */
export function Choices({ verb, choices, run, doneText }: ChoicesProps) {
  const action = useAction(async (api, name: string) => {
    await run(api, name)
    return name
  })
  return (
    <>
      <Facts
        facts={Object.fromEntries(
          choices.map(({ name, about }) => [
            shortText(name),
            <span key={name} className="ui-row">
              <Button
                variant="default"
                disabled={action.isPending}
                aria-label={`${verb} ${shortText(name)}`}
                onClick={() => action.mutate(name)}
              >
                {verb}
              </Button>
              <Text value={about} />
            </span>,
          ]),
        )}
      />
      <span role="status">{action.data !== undefined && doneText(action.data)}</span>
      <Failure error={action.error} />
    </>
  )
}
