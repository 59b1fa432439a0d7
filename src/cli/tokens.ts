import type { Command } from 'commander'
import type { NetworkId } from '../../schema/index.ts'
import type { Token } from '../client/index.ts'
import { moreLine, parseCount } from './event-command.ts'
import { printResult, renderTable } from './output.ts'
import {
  asRestCommand,
  cellOf,
  collectPages,
  exactly,
  withApi,
  type ApiList,
  type RestCommandOptions,
  type RestListOptions,
} from './rest-client.ts'
import { networkOption, renderFacts } from './rest-parts.ts'

interface GetOptions extends RestCommandOptions {
  readonly network: NetworkId
}

interface SearchOptions extends RestListOptions {
  readonly network?: NetworkId
}

/** `onchain-inbox tokens get|search` (R64, R65). */
export function addTokensCommand(program: Command): void {
  const tokens = program.command('tokens').description('look tokens up in the service')

  const get = tokens
    .command('get')
    .description('show a token')
    .argument('<address>', 'its address')
    .addOption(networkOption().makeOptionMandatory())
  asRestCommand(get, 'tokens get 0x6982508145454ce325ddbe47a25d4ec3d2311933 --network ethereum').action(
    async (address: string, options: GetOptions) => {
      await withApi(options, async (api) => {
        const token = exactly(await api.getToken({ address, network: options.network })) as Token
        printResult(token, options, (one) => renderFacts('token', one))
      })
    },
  )

  const search = tokens
    .command('search')
    .description('find tokens by a part of their symbol or name, or by their address')
    .argument('<text>', 'what to look for')
    .addOption(networkOption())
    .option('--limit <number>', 'how many', parseCount, 20)
    .option('--cursor <cursor>', 'go on behind an earlier list')
  asRestCommand(search, 'tokens search pepe --network ethereum').action(async (q: string, options: SearchOptions) => {
    await withApi(options, async (api) => {
      const { network, limit, cursor } = options
      const list = await collectPages((query) => api.searchTokens({ q, network, ...query }).page(), limit, cursor)
      printResult(list, options, renderTokens)
    })
  })
}

function renderTokens(list: ApiList<Token>): string {
  const rows = list.data.map((token) => [
    token.symbol,
    token.name,
    token.network,
    token.address,
    cellOf(token.price_usd),
    cellOf(token.change_pct_24h),
    cellOf(token.liquidity_usd),
    token.risk_level,
  ])
  const head = ['symbol', 'called', 'network', 'address', 'price USD', '24 h %', 'liquidity USD', 'risk']
  return `${rows.length === 0 ? 'no tokens' : renderTable(head, rows)}${moreLine(list)}`
}
