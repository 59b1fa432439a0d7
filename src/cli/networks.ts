import type { Command } from 'commander'
import type { Network } from '../client/index.ts'
import { printResult, renderTable } from './output.ts'
import { asRestCommand, cellOf, exactly, withApi, type RestCommandOptions } from './rest-client.ts'

/** `onchain-inbox networks`: the networks of the service, with their status (R59). */
export function addNetworksCommand(program: Command): void {
  const networks = program.command('networks').description('list the networks of the service, with their status')
  asRestCommand(networks, 'networks').action(async (options: RestCommandOptions) => {
    await withApi(options, async (api) => {
      const data = exactly(await api.listNetworks()) as readonly Network[]
      printResult({ data, next_cursor: null }, options, renderNetworks)
    })
  })
}

function renderNetworks({ data }: { readonly data: readonly Network[] }): string {
  const rows = data.map((one) => [
    one.id,
    one.name,
    cellOf(one.chain_id),
    one.native_currency,
    one.status,
    cellOf(one.features),
  ])
  return rows.length === 0
    ? 'no networks'
    : renderTable(['id', 'name', 'chain id', 'currency', 'status', 'features'], rows)
}
