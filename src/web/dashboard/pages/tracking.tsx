import { Page } from '../../ui/page.tsx'
import { ThresholdsPanel } from './thresholds-panel.tsx'
import { TrackedPanel } from './tracked-panel.tsx'

/** Whose trades give events, and from when on something gives one (A34). */
export function TrackingPage() {
  return (
    <Page title="Tracking" about="Whose trades give events, and how much it takes.">
      <ThresholdsPanel />
      <TrackedPanel />
    </Page>
  )
}
