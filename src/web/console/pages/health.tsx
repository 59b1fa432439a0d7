import { Page, Panel } from '../../ui/page.tsx'
import { ErrorState, LoadingState } from '../../ui/states.tsx'
import { useApi } from '../../ui/use-api.ts'
import type { HealthJson, SecretUseJson } from '../contract.ts'
import { useChanged } from '../parts/bulk-list.ts'
import { GapsPanel } from '../parts/health-gaps.tsx'
import { ReconcilePanel } from '../parts/health-reconcile.tsx'
import { RegistrationPanel } from '../parts/health-registration.tsx'
import { SecretsPanel } from '../parts/health-secrets.tsx'
import { SenderPanel } from '../parts/health-sender.tsx'
import { SilencesPanel } from '../parts/health-silences.tsx'
import { Warnings } from '../parts/health-warnings.tsx'
import { usePoll } from '../parts/overview-live.ts'
import '../parts/overview.css'

/** Silences grow without anything changing. */
const pollMs = 15_000

/** How the sender sees this receiver, what may be missing, and how to find it. */
export function HealthPage() {
  const { data, error, reload } = useApi<HealthJson>('/health')
  const secrets = useApi<{ readonly data: readonly SecretUseJson[] }>('/secrets')
  const reloadAll = () => {
    reload()
    secrets.reload()
  }
  useChanged('health', reloadAll)
  usePoll(pollMs, reloadAll)
  return (
    <Page title="Health" about="How the sender sees this receiver, what may be missing, and how to find it.">
      <ErrorState error={error} onRetry={reload} />
      {data === null ? (
        error === null && <LoadingState what="the health" />
      ) : (
        <>
          <Panel title="What needs attention">
            <Warnings warnings={data.warnings} />
          </Panel>
          <SenderPanel sender={data.sender} isShort={false} />
          <GapsPanel gaps={data.gaps} missing_sequence_numbers={data.missing_sequence_numbers} onDone={reload} />
          <ReconcilePanel told={data.reconcile} isConfigured={data.reconcile_configured} gaps={data.gaps} />
          <SilencesPanel silences={data.silences} />
          <SecretsPanel secrets={secrets.data?.data ?? null} error={secrets.error} onRetry={secrets.reload} />
          <RegistrationPanel subscription={data.subscription} />
        </>
      )}
    </Page>
  )
}
