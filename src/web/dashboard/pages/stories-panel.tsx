import { Button, NumberInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Panel } from '../../ui/page.tsx'
import { ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import { stories, storyNames } from '../names.ts'

/** Stories that unfold over minutes to hours of world time, and how busy everybody is. */
export function StoriesPanel() {
  const api = useApiClient()
  const [activity, setActivity] = useState<number | string>(1)
  const [done, setDone] = useState('')
  const { run, isBusy, error } = useAct()
  const act = (path: string, body: object, said: string) =>
    void run(async () => {
      setDone('')
      await api.send('POST', path, body)
      setDone(said)
    })
  const setFactor = (event: SubmitEvent) => {
    event.preventDefault()
    act('/world/activity', { factor: activity }, `Everybody is ${activity} times as busy as usual.`)
  }

  return (
    <Panel title="Stories" about="Each unfolds over minutes to hours of world time, with the events that belong to it.">
      <div className="ui-cards">
        {storyNames.map((story) => (
          <article key={story} className="ui-card" aria-label={story}>
            <h3>{story}</h3>
            <p className="ui-dimmed">{stories[story]}</p>
            <div>
              <Button
                size="xs"
                variant="default"
                disabled={isBusy}
                aria-label={`Begin ${story}`}
                onClick={() => act('/world/story', { story }, `The story ${story} has begun.`)}
              >
                Begin
              </Button>
            </div>
          </article>
        ))}
      </div>
      <form className="ui-form" onSubmit={setFactor}>
        <NumberInput
          label="Activity"
          description="As a multiple of the usual"
          min={0}
          max={10_000}
          required
          withAsterisk={false}
          value={activity}
          onChange={setActivity}
        />
        <Button type="submit" variant="default" loading={isBusy}>
          Set the activity
        </Button>
      </form>
      <div role="status">{done}</div>
      <ErrorState error={error} />
    </Panel>
  )
}
