import { createInbox, defineHandler, defineSink } from 'onchain-inbox'
import { ApiError, createClient, type ApiResponse, type ApiClient, type Pages, type Trade } from 'onchain-inbox/client'
import { createTestInbox } from 'onchain-inbox/testing'

const api: ApiClient = createClient({ baseUrl: 'https://api.example.com/v1', apiKey: async () => 'k' })
const address = '0x'
const network = 'ethereum'
declare const limit: number | undefined

// Data is that of the operation.
const { data, meta, requestId } = await api.getWallet({ address, network })
data.portfolio_value_usd.toFixed()
// @ts-expect-error -- a member of another resource
void data.risk_score
// @ts-expect-error -- may be missing (R15)
void meta.network.length
// @ts-expect-error -- the service may not say it
void requestId.length
const pnl = await api.getWalletPnl({ address, network, timeframe: '24h' })
pnl.data.pnl.unrealized_usd.toFixed()

// Lists are pages (R55).
const trades: Pages<Trade> = api.listWalletTrades({ address, network, limit })
for await (const { type, token_in } of trades) {
  token_in.value_usd.toFixed()
  // R29 open: known values are completed, others are no error.
  const known: 'buy' | (string & {}) = type
  if (type === 'a-new-kind') void known
}
const cursor: string | null | undefined = (await trades.page()).meta.next_cursor
for await (const position of api.getWalletPortfolio({ address, network, cursor: cursor ?? undefined })) {
  // R20 with an s here, with a z above.
  position.unrealised_pnl_usd.toFixed()
}
void api.listAlerts()
void api.listAlerts({ limit: 5 }, { signal: AbortSignal.timeout(1) })
void api.listNetworks({ fresh: true })

// Arguments come from path, query and body.
void api.createWebhook({ url: 'https://example.com', events: ['*'] as readonly '*'[], secret: undefined })
void api.updateWebhook({ webhook_id: 'wh_1', events: ['token.price_alert'] })
void api.createAlert({ type: 'price_above', address, network, threshold: 1, webhook_url: 'https://example.com' })
// A network as an event has it; R4: an unknown one is rejected by the call.
void api.getWallet({ address, network: 'dogecoin' })
// @ts-expect-error -- network is missing
void api.getWallet({ address })
// @ts-expect-error -- no such window
void api.getWalletPnl({ address, network, timeframe: '1y' })
// @ts-expect-error -- no such type of event
void api.createWebhook({ url: 'https://example.com', events: ['token.unheard_of'] })
// @ts-expect-error -- threshold is missing
void api.createAlert({ type: 'price_above', address, network, webhook_url: 'https://example.com' })
// @ts-expect-error -- only pages can be iterated
void api.getToken({ address, network })[Symbol.asyncIterator]

const other: ApiResponse<unknown> = await api.get('/trending', { limit: 5, deep: true })
void other.exact('data.0.price_usd')?.length

const isLimit = (error: unknown) => error instanceof ApiError && error.status === 429 && (error.retryAfterMs ?? 0) > 0
void isLimit

// The same client in handlers and sinks.
const handler = defineHandler({
  name: 'a',
  type: 'wallet.large_trade',
  async run(event, ctx) {
    const { wallet_address, network: of } = event.data
    const { data: wallet } = await ctx.api.getWallet({ address: wallet_address, network: of })
    ctx.log.info({ isWhale: wallet.is_whale }, 'wallet')
  },
})
const sink = defineSink({ name: 'b', send: async (_, ctx) => void (await ctx.api.listNetworks()) })
createInbox({ handlers: [handler, sink], secrets: 's', apiUrl: 'https://api.example.com', apiKey: 'k' })
void createTestInbox({ handlers: [handler], api })
void createTestInbox({ handlers: [handler], api: { getWallet: (args) => api.getWallet(args) } })
