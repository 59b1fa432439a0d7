import { Option, type Command } from 'commander'
import type { NetworkId } from '../../schema/index.ts'
import { timeframes } from '../../schema/rest/parameters.ts'
import type { PnlSummary, Position, Trade, WalletOverview } from '../client/index.ts'
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
} from './rest-client.ts'
import { networkOption, renderFacts } from './rest-parts.ts'

interface WalletOptions extends RestCommandOptions {
  readonly network: NetworkId
}

interface ListOptions extends WalletOptions {
  readonly limit: number
  readonly cursor?: string
}

interface TradesOptions extends ListOptions {
  readonly token?: string
}

interface PnlOptions extends WalletOptions {
  readonly timeframe?: (typeof timeframes)[number]
}

const example = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045 --network ethereum'

/** `onchain-inbox wallets get|portfolio|pnl|trades` (R51–R56). */
export function addWalletsCommand(program: Command): void {
  const wallets = program.command('wallets').description('look wallets up in the service')

  const get = aboutWallet(wallets, 'get', 'show the overview of a wallet')
  asRestCommand(get, `wallets get ${example}`).action(async (address: string, options: WalletOptions) => {
    await withApi(options, async (api) => {
      const wallet = exactly(await api.getWallet({ address, network: options.network })) as WalletOverview
      printResult(wallet, options, (one) => renderFacts('wallet', one))
    })
  })

  const portfolio = asList(aboutWallet(wallets, 'portfolio', 'list what a wallet holds'))
  asRestCommand(portfolio, `wallets portfolio ${example}`).action(async (address: string, options: ListOptions) => {
    await withApi(options, async (api) => {
      const { network, limit, cursor } = options
      const fetchPage = (query: Query) => api.getWalletPortfolio({ address, network, ...query }).page()
      printResult(await collectPages(fetchPage, limit, cursor), options, renderPositions)
    })
  })

  const pnl = aboutWallet(wallets, 'pnl', 'show profit and loss of a wallet').addOption(
    new Option('--timeframe <time>', 'how far back').choices(timeframes),
  )
  asRestCommand(pnl, `wallets pnl ${example} --timeframe 7d`).action(async (address: string, options: PnlOptions) => {
    await withApi(options, async (api) => {
      const { network, timeframe } = options
      const summary = exactly(await api.getWalletPnl({ address, network, timeframe })) as PnlSummary
      printResult(summary, options, (one) => renderFacts('profit and loss', one))
    })
  })

  const trades = asList(aboutWallet(wallets, 'trades', 'list the trades of a wallet')).option(
    '--token <address>',
    'only those with this token in or out',
  )
  asRestCommand(trades, `wallets trades ${example}`).action(async (address: string, options: TradesOptions) => {
    await withApi(options, async (api) => {
      const { network, token, limit, cursor } = options
      const fetchPage = (query: Query) => api.listWalletTrades({ address, network, token, ...query }).page()
      printResult(await collectPages(fetchPage, limit, cursor), options, renderTrades)
    })
  })
}

interface Query {
  readonly limit: number
  readonly cursor: string | undefined
}

function aboutWallet(wallets: Command, name: string, description: string): Command {
  return wallets
    .command(name)
    .description(description)
    .argument('<address>', 'the address of the wallet')
    .addOption(networkOption().makeOptionMandatory())
}

function asList(command: Command): Command {
  return command
    .option('--limit <number>', 'how many', parseCount, 20)
    .option('--cursor <cursor>', 'go on behind an earlier list')
}

function renderPositions(list: ApiList<Position>): string {
  const rows = list.data.map((position) => [
    position.symbol,
    position.token_address,
    cellOf(position.balance),
    cellOf(position.price_usd),
    cellOf(position.value_usd),
    cellOf(position.cost_basis_usd),
    cellOf(position.unrealised_pnl_usd),
    cellOf(position.allocation_pct),
  ])
  const head = ['symbol', 'address', 'balance', 'price USD', 'value USD', 'cost USD', 'unrealised USD', 'share %']
  return `${rows.length === 0 ? 'it holds nothing' : renderTable(head, rows)}${moreLine(list)}`
}

function renderTrades(list: ApiList<Trade>): string {
  const rows = list.data.map(({ timestamp, type, token_in: paid, token_out: got, dex, fee_usd: fee, tx_hash: id }) => [
    timestamp,
    type,
    `${cellOf(paid.amount)} ${paid.symbol}`,
    `${cellOf(got.amount)} ${got.symbol}`,
    cellOf(got.value_usd),
    cellOf(fee),
    dex,
    id,
  ])
  const head = ['time', 'type', 'paid', 'got', 'value USD', 'fee USD', 'exchange', 'transaction']
  return `${rows.length === 0 ? 'no trades' : renderTable(head, rows)}${moreLine(list)}`
}
