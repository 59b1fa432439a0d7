import { findPage, navSections, type Route, type RoutedPage } from '../ui/routes.tsx'
import { AlertsPage } from './pages/alerts.tsx'
import { ApiKeysPage } from './pages/api-keys.tsx'
import { ClockPage } from './pages/clock.tsx'
import { DeliveriesPage } from './pages/deliveries.tsx'
import { DeliveryPage } from './pages/delivery.tsx'
import { EventsPage } from './pages/events.tsx'
import { FaultsPage } from './pages/faults.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { TokenPage } from './pages/token.tsx'
import { TokensPage } from './pages/tokens.tsx'
import { TrackingPage } from './pages/tracking.tsx'
import { WalletPage } from './pages/wallet.tsx'
import { WalletsPage } from './pages/wallets.tsx'
import { WebhooksPage } from './pages/webhooks.tsx'

const routes: readonly Route[] = [
  { pattern: '/', title: 'Overview', element: () => <OverviewPage /> },
  { pattern: '/webhooks', title: 'Webhooks', element: () => <WebhooksPage /> },
  { pattern: '/alerts', title: 'Alerts', element: () => <AlertsPage /> },
  { pattern: '/deliveries', title: 'Deliveries', element: () => <DeliveriesPage /> },
  {
    pattern: '/deliveries/:id',
    title: 'Delivery',
    element: ({ id = '' }) => <DeliveryPage key={id} id={id} />,
  },
  { pattern: '/tokens', title: 'Tokens', element: () => <TokensPage /> },
  {
    pattern: '/tokens/:network/:address',
    title: 'Token',
    element: ({ network = '', address = '' }) => <TokenPage key={address} network={network} address={address} />,
  },
  { pattern: '/wallets', title: 'Wallets', element: () => <WalletsPage /> },
  {
    pattern: '/wallets/:network/:address',
    title: 'Wallet',
    element: ({ network = '', address = '' }) => <WalletPage key={address} network={network} address={address} />,
  },
  { pattern: '/events', title: 'Events', element: () => <EventsPage /> },
  { pattern: '/faults', title: 'Faults', element: () => <FaultsPage /> },
  { pattern: '/clock', title: 'Clock and stories', element: () => <ClockPage /> },
  { pattern: '/settings/api-keys', title: 'API keys', element: () => <ApiKeysPage /> },
  { pattern: '/settings/tracking', title: 'Tracking', element: () => <TrackingPage /> },
]

/** What the navigation leads to. */
export const nav = navSections(routes, [
  ['Events', '/', '/events', '/deliveries', '/webhooks', '/alerts'],
  ['World', '/tokens', '/wallets'],
  ['Control', '/clock', '/faults'],
  ['Settings', '/settings/api-keys', '/settings/tracking'],
])

/** The page at a path. */
export function pageAt(path: string): RoutedPage {
  return findPage(routes, path)
}
