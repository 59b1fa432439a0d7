import { Page } from '../../ui/page.tsx'
import { ClockPanel } from './clock-panel.tsx'
import { StoriesPanel } from './stories-panel.tsx'
import { TriggerPanel } from './trigger-panel.tsx'

/** Time and what happens in it. */
export function ClockPage() {
  return (
    <Page title="Clock and stories" about="How the time of the world goes, and what is to happen in it.">
      <ClockPanel />
      <TriggerPanel />
      <StoriesPanel />
    </Page>
  )
}
