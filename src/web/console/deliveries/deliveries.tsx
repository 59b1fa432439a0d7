import { TabbedPage } from '../../ui/tabs.tsx'
import { ConflictList } from './conflicts.tsx'
import { DriftList } from './drift.tsx'
import { DeliveryHealth } from './health.tsx'
import { QuarantineList } from './quarantine.tsx'
import { RejectedList } from './rejected.tsx'

export const deliveryTabs = [
  { path: '', label: 'Health', content: () => <DeliveryHealth /> },
  { path: 'rejected', label: 'Rejected', content: () => <RejectedList /> },
  { path: 'quarantine', label: 'Quarantine', content: () => <QuarantineList /> },
  { path: 'conflicts', label: 'Conflicts', content: () => <ConflictList /> },
  { path: 'drift', label: 'Drift', content: () => <DriftList /> },
]

export function DeliveriesPage({ tab }: { readonly tab: string | undefined }) {
  return <TabbedPage title="Deliveries" path="/deliveries" tab={tab} tabs={deliveryTabs} />
}
