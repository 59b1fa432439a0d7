import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState, type SubmitEvent } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { shortAddress } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { EmptyState, ErrorState } from '../../ui/states.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import type { World } from '../contract.ts'
import { networks } from '../names.ts'
import { hrefOf } from '../parts/links.ts'

/** The wallets whose trades give events. */
export function TrackedPanel() {
  const api = useApiClient()
  const { data, error, reload } = useApi<World>('/world')
  const [network, setNetwork] = useState<string>(networks[0] ?? '')
  const [wallet, setWallet] = useState('')
  const { run, isBusy, error: trackError } = useAct()
  const track = (event: SubmitEvent) => {
    event.preventDefault()
    void run(async () => {
      await api.send('POST', '/world/track', { network, wallet: wallet.trim(), isTracked: true })
      setWallet('')
      reload()
    })
  }
  return (
    <Panel title="Tracked wallets">
      <form className="ui-form" onSubmit={track}>
        <NativeSelect
          label="Network"
          data={[...networks]}
          value={network}
          onChange={(event) => setNetwork(event.currentTarget.value)}
        />
        <TextInput
          label="Address of the wallet"
          className="ui-grow"
          required
          withAsterisk={false}
          value={wallet}
          onChange={(event) => setWallet(event.currentTarget.value)}
        />
        <Button type="submit" loading={isBusy}>
          Track it
        </Button>
      </form>
      <ErrorState error={trackError} />
      <DataTable
        caption="Tracked wallets"
        rows={data?.trackedWallets ?? null}
        error={error}
        onRetry={reload}
        rowKey={(tracked) => `${tracked.network} ${tracked.address}`}
        empty={<EmptyState title="No wallet is tracked">Track one, and its large trades give events.</EmptyState>}
        columns={[
          {
            header: 'Wallet',
            isName: true,
            cell: (tracked) => (
              <Address
                value={tracked.address}
                href={hrefOf('wallet', tracked.network, tracked.address) ?? '#/wallets'}
              />
            ),
          },
          { header: 'Network', cell: (tracked) => tracked.network },
          {
            header: 'Actions',
            cell: (tracked) => (
              <ConfirmButton
                label="Stop tracking"
                name={`Stop tracking ${shortAddress(tracked.address)}`}
                title="Stop tracking this wallet?"
                verb="Stop"
                onConfirm={async () => {
                  await api.send('POST', '/world/track', {
                    network: tracked.network,
                    wallet: tracked.address,
                    isTracked: false,
                  })
                  reload()
                }}
              >
                Its trades give no more events.
              </ConfirmButton>
            ),
          },
        ]}
      />
    </Panel>
  )
}
