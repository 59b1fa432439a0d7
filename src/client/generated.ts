// Made from schema/openapi.json by `npm run generate`: not to be changed by hand.
/* oxlint-disable */
export interface paths {
  '/wallets/{address}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /** Overview of a wallet */
    get: operations['getWallet']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/wallets/{address}/portfolio': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * All token holdings of a wallet, as pages
     * @description In the order in which the tokens were first acquired; all pages of one walk show the prices of the first.
     */
    get: operations['getWalletPortfolio']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/wallets/{address}/pnl': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /** Profit and loss of a wallet */
    get: operations['getWalletPnl']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/wallets/{address}/trades': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Trade history of a wallet, as pages
     * @description Newest first; the service promises no order, so rely on none.
     */
    get: operations['listWalletTrades']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/tokens/{address}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /** A token by its address */
    get: operations['getToken']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/tokens/search': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * Tokens by symbol, name or address, as pages
     * @description Without `network` it looks on all networks. Oldest first.
     */
    get: operations['searchTokens']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/alerts': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The alerts of the account, as pages
     * @description Oldest first.
     */
    get: operations['listAlerts']
    put?: never
    /**
     * Create an alert
     * @description Not idempotent: the same body twice makes two alerts. An account has at most 100.
     */
    post: operations['createAlert']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/alerts/{alert_id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /** An alert */
    get: operations['getAlert']
    put?: never
    post?: never
    /** Delete an alert */
    delete: operations['deleteAlert']
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/networks': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The supported networks with their status
     * @description May be cached for up to 5 minutes: polling it uses up requests.
     */
    get: operations['listNetworks']
    put?: never
    post?: never
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/webhooks': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /**
     * The webhooks of the account, as pages
     * @description Oldest first.
     */
    get: operations['listWebhooks']
    put?: never
    /**
     * Register a webhook
     * @description An account has at most 20. The same url twice means two deliveries of each event, with the same id. A secret that the service makes is shown in this answer only.
     */
    post: operations['createWebhook']
    delete?: never
    options?: never
    head?: never
    patch?: never
    trace?: never
  }
  '/webhooks/{webhook_id}': {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    /** A webhook */
    get: operations['getWebhook']
    put?: never
    post?: never
    /**
     * Delete a webhook
     * @description Deliveries that are still to be retried are cancelled.
     */
    delete: operations['deleteWebhook']
    options?: never
    head?: never
    /**
     * Change a webhook
     * @description What is given is changed. A new secret signs every delivery from now on, retries included.
     */
    patch: operations['updateWebhook']
    trace?: never
  }
}
export interface components {
  schemas: {
    /**
     * @description Overview of a wallet.
     * @example {
     *       "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
     *       "network": "ethereum",
     *       "portfolio_value_usd": 20000,
     *       "total_tokens_held": 2,
     *       "total_trades_all_time": 4,
     *       "first_active": "2026-01-04T09:12:47.000Z",
     *       "last_active": "2026-01-31T13:58:11.000Z",
     *       "is_whale": false,
     *       "pnl_30d_usd": 3500,
     *       "roi_30d_pct": 17.5
     *     }
     */
    WalletOverview: {
      /** @description Public address of the wallet: 0x and 40 hex digits in EIP-55 case, or base58 on solana. */
      address: string
      /**
       * @description Identifier of the network.
       * @enum {string}
       */
      network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /** @description Total value of the portfolio in USD. */
      portfolio_value_usd: number
      /** @description How many tokens the wallet holds: `total` of its portfolio. */
      total_tokens_held: number
      /** @description How many trades the wallet has made: `total` of its trades. */
      total_trades_all_time: number
      /**
       * Format: date-time
       * @description When the wallet was first active, UTC.
       */
      first_active: string
      /**
       * Format: date-time
       * @description When the wallet was last active, UTC.
       */
      last_active: string
      /** @description Whether it is a whale: a portfolio of 1,000,000 USD or more, or 1 % or more of the supply of a token. */
      is_whale: boolean
      /** @description Profit or loss over 30 days in USD: `pnl.total_usd` of that timeframe. */
      pnl_30d_usd: number
      /** @description Return over 30 days in percent: `pnl.roi_pct` of that timeframe. */
      roi_30d_pct: number
    }
    /**
     * @description A token that the wallet holds.
     * @example {
     *       "token_address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
     *       "symbol": "EXMPL",
     *       "name": "Example Coin",
     *       "balance": 12000,
     *       "price_usd": 1.25,
     *       "value_usd": 15000,
     *       "cost_basis_usd": 12000,
     *       "unrealised_pnl_usd": 3000,
     *       "unrealised_pnl_pct": 25,
     *       "allocation_pct": 75
     *     }
     */
    Position: {
      /** @description Contract address of the token: 0x and 40 hex digits in EIP-55 case, or base58 on solana. */
      token_address: string
      /** @description Symbol of the token, chosen by whoever made it: not unique, not to be trusted. */
      symbol: string
      /** @description Name of the token, chosen by whoever made it: not unique, not to be trusted. */
      name: string
      /** @description How many of the token the wallet holds. */
      balance: number
      /** @description Price of one in USD. */
      price_usd: number
      /** @description What the balance is worth in USD. */
      value_usd: number
      /** @description What it cost in USD, by average cost, fees included. */
      cost_basis_usd: number
      /** @description Value less cost basis, in USD. */
      unrealised_pnl_usd: number
      /** @description The same in percent of the cost basis. */
      unrealised_pnl_pct: number
      /** @description Share of the wallet's portfolio in percent. */
      allocation_pct: number
    }
    /**
     * @description Profit and loss of a wallet.
     * @example {
     *       "wallet": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
     *       "network": "ethereum",
     *       "timeframe": "30d",
     *       "pnl": {
     *         "realized_usd": 1500,
     *         "unrealized_usd": 2000,
     *         "total_usd": 3500,
     *         "roi_pct": 17.5
     *       }
     *     }
     */
    PnlSummary: {
      /** @description Public address of the wallet: 0x and 40 hex digits in EIP-55 case, or base58 on solana. */
      wallet: string
      /**
       * @description Identifier of the network.
       * @enum {string}
       */
      network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /**
       * @description The lookback window asked for, or the default.
       * @enum {string}
       */
      timeframe: '24h' | '7d' | '30d' | 'all'
      /** @description Profit and loss in USD at current rates. */
      pnl: {
        /** @description Profit or loss locked in from fully closed positions, in USD. */
        realized_usd: number
        /** @description Gain or loss on open positions at present prices, in USD. */
        unrealized_usd: number
        /** @description Realized plus unrealized, in USD. */
        total_usd: number
        /** @description Return in percent of the cost basis; 0 where there was no cost. */
        roi_pct: number
      }
    }
    /**
     * @description A trade of a wallet.
     * @example {
     *       "tx_hash": "0x4a7f09c3e14a7f09c3e14a7f09c3e14a7f09c3e14a7f09c3e14a7f09c3e1b2d8",
     *       "type": "buy",
     *       "timestamp": "2026-01-31T13:58:11.000Z",
     *       "token_in": {
     *         "address": "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",
     *         "symbol": "ETH",
     *         "amount": 4,
     *         "value_usd": 12000
     *       },
     *       "token_out": {
     *         "address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
     *         "symbol": "EXMPL",
     *         "amount": 12000,
     *         "value_usd": 11950
     *       },
     *       "dex": "Uniswap V2",
     *       "fee_usd": 36,
     *       "price_impact_pct": 0.117
     *     }
     */
    Trade: {
      /** @description Transaction hash: 0x and 64 lower-case hex digits, or on solana a signature in base58. */
      tx_hash: string
      /** @description What kind of trade it was; more kinds may come. */
      type: 'buy' | 'sell' | 'swap' | (string & {})
      /**
       * Format: date-time
       * @description When the trade was made, UTC.
       */
      timestamp: string
      /** @description What the wallet paid with. */
      token_in: {
        /** @description Contract address of the token: 0x and 40 hex digits in EIP-55 case, or base58 on solana. */
        address: string
        /** @description Symbol of the token, chosen by whoever made it: not unique, not to be trusted. */
        symbol: string
        /** @description How many of the token. */
        amount: number
        /** @description What they were worth in USD at the time of the trade. */
        value_usd: number
      }
      /** @description What the wallet got. */
      token_out: {
        /** @description Contract address of the token: 0x and 40 hex digits in EIP-55 case, or base58 on solana. */
        address: string
        /** @description Symbol of the token, chosen by whoever made it: not unique, not to be trusted. */
        symbol: string
        /** @description How many of the token. */
        amount: number
        /** @description What they were worth in USD at the time of the trade. */
        value_usd: number
      }
      /** @description Name of the exchange used. */
      dex: string
      /** @description Fee in USD. */
      fee_usd: number
      /** @description How far the trade moved the price, in percent. */
      price_impact_pct: number
    }
    /**
     * @description A token.
     * @example {
     *       "address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
     *       "network": "ethereum",
     *       "symbol": "EXMPL",
     *       "name": "Example Coin",
     *       "decimals": 18,
     *       "price_usd": 1.25,
     *       "change_pct_24h": 12.3,
     *       "volume_24h_usd": 1482119.07,
     *       "liquidity_usd": 10240000,
     *       "market_cap_usd": 125000000,
     *       "holder_count": 1841,
     *       "risk_score": 33,
     *       "risk_level": "medium",
     *       "created_at": "2026-01-02T20:41:35.000Z"
     *     }
     */
    Token: {
      /** @description Contract address of the token: 0x and 40 hex digits in EIP-55 case, or base58 on solana. */
      address: string
      /**
       * @description Identifier of the network.
       * @enum {string}
       */
      network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /** @description Symbol of the token, chosen by whoever made it: not unique, not to be trusted. */
      symbol: string
      /** @description Name of the token, chosen by whoever made it: not unique, not to be trusted. */
      name: string
      /** @description How many decimals an amount of the token has. */
      decimals: number
      /** @description Price of one in USD. */
      price_usd: number
      /** @description Price change over 24 hours in percent. */
      change_pct_24h: number
      /** @description Traded volume of 24 hours in USD. */
      volume_24h_usd: number
      /** @description Liquidity of its pool in USD. */
      liquidity_usd: number
      /** @description Price times supply in USD. */
      market_cap_usd: number
      /** @description How many wallets hold it. */
      holder_count: number
      /** @description Risk score of the audit, 0 to 100; higher is worse. */
      risk_score: number
      /** @description Level of the score in a word. */
      risk_level: 'low' | 'medium' | 'high' | 'critical' | (string & {})
      /**
       * Format: date-time
       * @description When the token was made, UTC.
       */
      created_at: string
    }
    /**
     * @description An alert to create. Members that are not listed here are ignored; but one that differs in case only from one that is, is refused.
     * @example {
     *       "type": "price_above",
     *       "address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
     *       "network": "ethereum",
     *       "threshold": 1.2,
     *       "webhook_url": "https://hooks.example.com/alerts",
     *       "label": "EXMPL above 1.20"
     *     }
     */
    NewAlert: {
      /**
       * @description What it watches for.
       * @enum {string}
       */
      type: 'price_above' | 'price_below' | 'volume_spike' | 'whale_buy' | 'whale_sell'
      /** @description Token contract or wallet that it watches. An alert on a price or a volume is silent until a token is listed there. */
      address: string
      /**
       * @description Identifier of the network.
       * @enum {string}
       */
      network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /** @description Trigger value: USD for price_above and price_below; percentage increase of the last hour for volume_spike; size of a trade in USD for whale_buy and whale_sell. */
      threshold: number
      /** @description URL that gets a POST when the alert triggers: https, or http to this machine. */
      webhook_url: string
      /** @description Label for people. */
      label?: string
    }
    /**
     * @description An alert.
     * @example {
     *       "alert_id": "alrt_01kg9v3q2m5x7c8d",
     *       "type": "price_above",
     *       "address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
     *       "network": "ethereum",
     *       "threshold": 1.2,
     *       "webhook_url": "https://hooks.example.com/alerts",
     *       "label": "EXMPL above 1.20",
     *       "status": "active",
     *       "created_at": "2026-01-31T14:03:22.123Z"
     *     }
     */
    Alert: {
      /** @description Opaque identifier, the handle for managing the alert. */
      alert_id: string
      /**
       * @description What it watches for.
       * @enum {string}
       */
      type: 'price_above' | 'price_below' | 'volume_spike' | 'whale_buy' | 'whale_sell'
      /** @description Token contract or wallet that it watches. An alert on a price or a volume is silent until a token is listed there. */
      address: string
      /**
       * @description Identifier of the network.
       * @enum {string}
       */
      network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /** @description Trigger value: USD for price_above and price_below; percentage increase of the last hour for volume_spike; size of a trade in USD for whale_buy and whale_sell. */
      threshold: number
      /** @description URL that gets a POST when the alert triggers: https, or http to this machine. */
      webhook_url: string
      /** @description Label for people; null if none was given. */
      label: string | null
      /** @description `active` on creation; more may come. */
      status: 'active' | 'triggered' | (string & {})
      /**
       * Format: date-time
       * @description When the alert was created, UTC.
       */
      created_at: string
    }
    /**
     * @description An alert that is gone.
     * @example {
     *       "alert_id": "alrt_01kg9v3q2m5x7c8d",
     *       "deleted": true
     *     }
     */
    DeletedAlert: {
      /** @description What it was. */
      alert_id: string
      /**
       * @description It is gone.
       * @constant
       */
      deleted: true
    }
    /**
     * @description A supported network.
     * @example {
     *       "id": "ethereum",
     *       "name": "Ethereum",
     *       "chain_id": 1,
     *       "native_currency": "ETH",
     *       "status": "operational",
     *       "features": [
     *         "tokens",
     *         "wallets",
     *         "contracts",
     *         "liquidity"
     *       ]
     *     }
     */
    Network: {
      /**
       * @description Identifier used in all other requests.
       * @enum {string}
       */
      id: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /** @description Name for people. */
      name: string
      /** @description EVM chain id; null for networks that are not EVM. */
      chain_id: number | null
      /** @description Symbol of the coin that fees are paid in. */
      native_currency: string
      /**
       * @description Whether it works: in maintenance, requests for it are answered with 503; degraded, they take longer.
       * @enum {string}
       */
      status: 'operational' | 'degraded' | 'maintenance'
      /** @description Groups of endpoints that know it. Of `contracts` and `liquidity` no operation is documented: they answer 501. */
      features: ('tokens' | 'wallets' | 'contracts' | 'liquidity')[]
    }
    /**
     * @description A webhook to register. Members that are not listed here are ignored; but one that differs in case only from one that is, is refused.
     * @example {
     *       "url": "https://hooks.example.com/events",
     *       "events": [
     *         "wallet.large_trade",
     *         "token.price_alert"
     *       ]
     *     }
     */
    NewWebhook: {
      /** @description URL that gets the POSTs, reachable from the service: https, or http to this machine. It is kept as it came. */
      url: string
      /** @description Names of event types, or the single wildcard `*` for all current and future types. */
      events: (
        | 'token.price_alert'
        | 'token.new_listing'
        | 'token.risk_change'
        | 'wallet.large_trade'
        | 'wallet.new_position'
        | 'wallet.pnl_milestone'
        | 'contract.honeypot_detected'
        | 'contract.liquidity_removed'
        | 'contract.ownership_changed'
        | 'pump.graduation'
        | 'token.volume_spike'
        | '*'
      )[]
      /** @description Secret that deliveries are signed with: its UTF-8 bytes as they are, never decoded. Without one the service makes it and shows it once. */
      secret?: string
    }
    /**
     * @description What to change of a webhook, at least one of its members. Members that are not listed here are ignored; but one that differs in case only from one that is, is refused.
     * @example {
     *       "events": [
     *         "*"
     *       ]
     *     }
     */
    WebhookChange: {
      /** @description URL that gets the POSTs, reachable from the service: https, or http to this machine. It is kept as it came. */
      url?: string
      /** @description Names of event types, or the single wildcard `*` for all current and future types. */
      events?: (
        | 'token.price_alert'
        | 'token.new_listing'
        | 'token.risk_change'
        | 'wallet.large_trade'
        | 'wallet.new_position'
        | 'wallet.pnl_milestone'
        | 'contract.honeypot_detected'
        | 'contract.liquidity_removed'
        | 'contract.ownership_changed'
        | 'pump.graduation'
        | 'token.volume_spike'
        | '*'
      )[]
      /** @description Secret that deliveries are signed with: its UTF-8 bytes as they are, never decoded. */
      secret?: string
    }
    /**
     * @description A registered webhook.
     * @example {
     *       "webhook_id": "wh_01kg9v4r6n8y2f3h",
     *       "url": "https://hooks.example.com/events",
     *       "events": [
     *         "wallet.large_trade",
     *         "token.price_alert"
     *       ],
     *       "status": "active",
     *       "created_at": "2026-01-31T14:03:22.123Z"
     *     }
     */
    Webhook: {
      /** @description Opaque identifier, the handle for managing the webhook. */
      webhook_id: string
      /**
       * Format: uri
       * @description URL that gets the POSTs.
       */
      url: string
      /** @description Names of event types, or the single wildcard `*`. */
      events: string[]
      /** @description Whether it gets deliveries; more may come. */
      status: 'active' | (string & {})
      /**
       * Format: date-time
       * @description When the webhook was registered, UTC.
       */
      created_at: string
    }
    /**
     * @description The webhook that was registered.
     * @example {
     *       "webhook_id": "wh_01kg9v4r6n8y2f3h",
     *       "url": "https://hooks.example.com/events",
     *       "events": [
     *         "wallet.large_trade",
     *         "token.price_alert"
     *       ],
     *       "status": "active",
     *       "created_at": "2026-01-31T14:03:22.123Z",
     *       "secret": "whsec_example_shown_once"
     *     }
     */
    CreatedWebhook: {
      /** @description Opaque identifier, the handle for managing the webhook. */
      webhook_id: string
      /**
       * Format: uri
       * @description URL that gets the POSTs.
       */
      url: string
      /** @description Names of event types, or the single wildcard `*`. */
      events: string[]
      /** @description Whether it gets deliveries; more may come. */
      status: 'active' | (string & {})
      /**
       * Format: date-time
       * @description When the webhook was registered, UTC.
       */
      created_at: string
      /** @description The secret, if the service made it. It is not shown again. */
      secret?: string
    }
    /**
     * @description A webhook that is gone.
     * @example {
     *       "webhook_id": "wh_01kg9v4r6n8y2f3h",
     *       "deleted": true
     *     }
     */
    DeletedWebhook: {
      /** @description What it was. */
      webhook_id: string
      /**
       * @description It is gone.
       * @constant
       */
      deleted: true
    }
    /**
     * @description About the answer.
     * @example {
     *       "timestamp": "2026-01-31T14:03:22.123Z",
     *       "latency_ms": 4
     *     }
     */
    PlainMeta: {
      /**
       * Format: date-time
       * @description When the answer was made, UTC.
       */
      timestamp: string
      /** @description How long the service worked on it, in milliseconds. */
      latency_ms: number
    }
    /**
     * @description About an answer that concerns one network.
     * @example {
     *       "timestamp": "2026-01-31T14:03:22.123Z",
     *       "network": "ethereum",
     *       "latency_ms": 4
     *     }
     */
    NetworkMeta: {
      /**
       * Format: date-time
       * @description When the answer was made, UTC.
       */
      timestamp: string
      /**
       * @description Network that the query was resolved against.
       * @enum {string}
       */
      network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      /** @description How long the service worked on it, in milliseconds. */
      latency_ms: number
    }
    /**
     * @description About a page of a list.
     * @example {
     *       "timestamp": "2026-01-31T14:03:22.123Z",
     *       "next_cursor": null,
     *       "limit": 20,
     *       "total": 1,
     *       "latency_ms": 4
     *     }
     */
    PageMeta: {
      /**
       * Format: date-time
       * @description When the answer was made, UTC.
       */
      timestamp: string
      /** @description To be passed as `cursor` for the next page; null or absent on the last. */
      next_cursor?: string | null
      /** @description Items per page. */
      limit: number
      /** @description How many items there are at the time of the request. */
      total: number
      /** @description How long the service worked on it, in milliseconds. */
      latency_ms?: number
    }
  }
  responses: never
  parameters: never
  requestBodies: never
  headers: never
  pathItems: never
}
export interface operations {
  getWallet: {
    parameters: {
      query: {
        /**
         * @description Network to resolve the query against.
         * @example ethereum
         */
        network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      }
      header?: never
      path: {
        /**
         * @description Public address of the wallet. Letters of 0x addresses may be in any case; addresses of solana keep theirs.
         * @example 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
         */
        address: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['WalletOverview']
            meta: components['schemas']['NetworkMeta']
          }
        }
      }
    }
  }
  getWalletPortfolio: {
    parameters: {
      query: {
        /**
         * @description Network to resolve the query against.
         * @example ethereum
         */
        network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
        /**
         * @description Items per page: 1 to 100; other values are refused.
         * @example 20
         */
        limit?: number
        /**
         * @description The `next_cursor` of the page before, as it came; it goes with the same other parameters.
         * @example eyJ2IjoxLCJrIjo0fQ.Qm9n
         */
        cursor?: string
      }
      header?: never
      path: {
        /**
         * @description Public address of the wallet. Letters of 0x addresses may be in any case; addresses of solana keep theirs.
         * @example 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
         */
        address: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Position'][]
            meta: components['schemas']['PageMeta']
          }
        }
      }
    }
  }
  getWalletPnl: {
    parameters: {
      query: {
        /**
         * @description Network to resolve the query against.
         * @example ethereum
         */
        network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
        /**
         * @description Lookback window.
         * @example 30d
         */
        timeframe?: '24h' | '7d' | '30d' | 'all'
      }
      header?: never
      path: {
        /**
         * @description Public address of the wallet. Letters of 0x addresses may be in any case; addresses of solana keep theirs.
         * @example 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
         */
        address: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['PnlSummary']
            meta: components['schemas']['NetworkMeta']
          }
        }
      }
    }
  }
  listWalletTrades: {
    parameters: {
      query: {
        /**
         * @description Network to resolve the query against.
         * @example ethereum
         */
        network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
        /**
         * @description Items per page: 1 to 100; other values are refused.
         * @example 1
         */
        limit?: number
        /**
         * @description The `next_cursor` of the page before, as it came; it goes with the same other parameters.
         * @example eyJ2IjoxLCJrIjo0fQ.Qm9n
         */
        cursor?: string
        /**
         * @description Only trades with this token in or out.
         * @example 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359
         */
        token?: string
      }
      header?: never
      path: {
        /**
         * @description Public address of the wallet. Letters of 0x addresses may be in any case; addresses of solana keep theirs.
         * @example 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
         */
        address: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Trade'][]
            meta: components['schemas']['PageMeta']
          }
        }
      }
    }
  }
  getToken: {
    parameters: {
      query: {
        /**
         * @description Network to resolve the query against.
         * @example ethereum
         */
        network: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
      }
      header?: never
      path: {
        /**
         * @description Contract address of the token. Letters of 0x addresses may be in any case; addresses of solana keep theirs.
         * @example 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359
         */
        address: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Token']
            meta: components['schemas']['NetworkMeta']
          }
        }
      }
    }
  }
  searchTokens: {
    parameters: {
      query: {
        /**
         * @description Part of a symbol or a name in any case, or a whole address.
         * @example exmpl
         */
        q: string
        /**
         * @description Network to resolve the query against.
         * @example ethereum
         */
        network?: 'ethereum' | 'bnb' | 'solana' | 'polygon' | 'base' | 'avalanche' | 'arbitrum'
        /**
         * @description Items per page: 1 to 100; other values are refused.
         * @example 20
         */
        limit?: number
        /**
         * @description The `next_cursor` of the page before, as it came; it goes with the same other parameters.
         * @example eyJ2IjoxLCJrIjo0fQ.Qm9n
         */
        cursor?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Token'][]
            meta: components['schemas']['PageMeta']
          }
        }
      }
    }
  }
  listAlerts: {
    parameters: {
      query?: {
        /**
         * @description Items per page: 1 to 100; other values are refused.
         * @example 20
         */
        limit?: number
        /**
         * @description The `next_cursor` of the page before, as it came; it goes with the same other parameters.
         * @example eyJ2IjoxLCJrIjo0fQ.Qm9n
         */
        cursor?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Alert'][]
            meta: components['schemas']['PageMeta']
          }
        }
      }
    }
  }
  createAlert: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "price_above",
         *       "address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
         *       "network": "ethereum",
         *       "threshold": 1.2,
         *       "webhook_url": "https://hooks.example.com/alerts",
         *       "label": "EXMPL above 1.20"
         *     }
         */
        'application/json': components['schemas']['NewAlert']
      }
    }
    responses: {
      /** @description Created. */
      201: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Alert']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  getAlert: {
    parameters: {
      query?: never
      header?: never
      path: {
        /**
         * @description The `alert_id` of the alert.
         * @example alrt_01kg9v3q2m5x7c8d
         */
        alert_id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Alert']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  deleteAlert: {
    parameters: {
      query?: never
      header?: never
      path: {
        /**
         * @description The `alert_id` of the alert.
         * @example alrt_01kg9v3q2m5x7c8d
         */
        alert_id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['DeletedAlert']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  listNetworks: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Network'][]
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  listWebhooks: {
    parameters: {
      query?: {
        /**
         * @description Items per page: 1 to 100; other values are refused.
         * @example 20
         */
        limit?: number
        /**
         * @description The `next_cursor` of the page before, as it came; it goes with the same other parameters.
         * @example eyJ2IjoxLCJrIjo0fQ.Qm9n
         */
        cursor?: string
      }
      header?: never
      path?: never
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Webhook'][]
            meta: components['schemas']['PageMeta']
          }
        }
      }
    }
  }
  createWebhook: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "url": "https://hooks.example.com/events",
         *       "events": [
         *         "wallet.large_trade",
         *         "token.price_alert"
         *       ]
         *     }
         */
        'application/json': components['schemas']['NewWebhook']
      }
    }
    responses: {
      /** @description Created. */
      201: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['CreatedWebhook']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  getWebhook: {
    parameters: {
      query?: never
      header?: never
      path: {
        /**
         * @description The `webhook_id` of the webhook.
         * @example wh_01kg9v4r6n8y2f3h
         */
        webhook_id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Webhook']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  deleteWebhook: {
    parameters: {
      query?: never
      header?: never
      path: {
        /**
         * @description The `webhook_id` of the webhook.
         * @example wh_01kg9v4r6n8y2f3h
         */
        webhook_id: string
      }
      cookie?: never
    }
    requestBody?: never
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['DeletedWebhook']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
  updateWebhook: {
    parameters: {
      query?: never
      header?: never
      path: {
        /**
         * @description The `webhook_id` of the webhook.
         * @example wh_01kg9v4r6n8y2f3h
         */
        webhook_id: string
      }
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "events": [
         *         "*"
         *       ]
         *     }
         */
        'application/json': components['schemas']['WebhookChange']
      }
    }
    responses: {
      /** @description Success. */
      200: {
        headers: {
          [name: string]: unknown
        }
        content: {
          'application/json': {
            /** @constant */
            success: true
            data: components['schemas']['Webhook']
            meta: components['schemas']['PlainMeta']
          }
        }
      }
    }
  }
}
