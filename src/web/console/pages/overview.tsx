import { Anchor } from '@mantine/core'
import { useLocation } from '../../ui/hash-router.ts'
import { Page, Panel } from '../../ui/page.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { Warnings } from '../parts/health-warnings.tsx'
import { SenderPanel } from '../parts/health-sender.tsx'
import { Charts, WindowChoice } from '../parts/overview-charts.tsx'
import { FigurePanels } from '../parts/overview-figures.tsx'
import { FirstRun } from '../parts/overview-first-run.tsx'
import { useFreshOverview } from '../parts/overview.ts'
import '../parts/overview.css'

/** What needs attention first, then how things are, then how they went. */
export function OverviewPage() {
  const { query } = useLocation()
  const window = query.get('window') === 'day' ? 'day' : 'hour'
  const { overview, error, reload } = useFreshOverview()
  const isFirstRun = overview?.events === 0
  return (
    <Page title="Overview" {...(!isFirstRun && { actions: <WindowChoice window={window} /> })}>
      <ErrorState error={error} onRetry={reload} />
      {overview === null
        ? error === null && <LoadingState what="the overview" />
        : [
            isFirstRun && <FirstRun key="first" rejects={overview.rejects} />,
            <Panel key="attention" title="What needs attention" actions={<Anchor href="#/health">Health</Anchor>}>
              <Warnings warnings={overview.warnings} />
            </Panel>,
            <div key="figures" className="console-figures">
              <SenderPanel sender={overview.sender} isShort />
              <FigurePanels overview={overview} />
            </div>,
          ]}
      {overview !== null && !isFirstRun && <Charts window={window} />}
    </Page>
  )
}
