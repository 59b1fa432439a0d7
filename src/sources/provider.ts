/** Where a value is: `body.<path>` or `header.<name>`. A list: the first one that has a value. */
export type Reference = string | readonly string[]

/**
 * How a signature is made.
 *
 * `hmac-sha256`: HMAC of the template. `secret`: the header holds the secret itself. `keccak256`: hash of the template
 * followed by the secret. `ed25519`: signature of the template, with a configured public key. `ecdsa-sha256`: signature
 * of the template, with a fetched key. `jws-rs512`: detached JWS of the body, with a fetched key.
 */
export type Scheme = 'hmac-sha256' | 'secret' | 'keccak256' | 'ed25519' | 'ecdsa-sha256' | 'jws-rs512'

/** One way in which a sender proves that a delivery is authentic. */
export interface Verification {
  readonly scheme: Scheme
  /** Header with the signature, in lower case. */
  readonly header: string
  /** Separates the items of the header. Absent: the header is one item. */
  readonly separator?: ',' | ' '
  /** Text before the signature in its item, such as `sha256=`. Items with another prefix are ignored. */
  readonly prefix?: string
  /** Not for `secret` and `jws-rs512`. */
  readonly encoding?: 'hex' | 'base64'
  /** `base64`: the secret is the decoded text behind `whsec_`. Absent: the UTF-8 bytes of its whole text. */
  readonly secretEncoding?: 'base64'
  /** Templates of the signed bytes. A signature of any of them is valid. Absent: `{body}`. */
  readonly signed?: readonly string[]
  readonly timestamp?: Timestamp
  /** Header with the id of a fetched key, in lower case. */
  readonly keyIdHeader?: string
  /**
   * Formats of signed headers, by name in lower case. An id among `{signedHeaders}` needs one: otherwise text of its neighbours
   * could move into it, and one signature would be valid for several ids.
   */
  readonly formats?: Readonly<Record<string, RegExp>>
}

/** The time of signing. The signature must cover it. */
export interface Timestamp {
  /** A header in lower case, or the item `name=…` of the signature header. */
  readonly from: { readonly header: string } | { readonly item: string }
  /** `date`: text of a date, whose format is not documented; other texts give no time. */
  readonly unit: 's' | 'ms' | 'date'
  /** A time further than this from the receiver's clock is old. */
  readonly toleranceSeconds: number
}

/** Where public keys are fetched. */
export interface KeyEndpoint {
  /** `{keyId}` is replaced. */
  readonly url: string
  /** `jwks`: a set of RSA keys (RFC 7517). `circle`: one P-256 key per request. */
  readonly format: 'jwks' | 'circle'
  /** True if requests need an API key as bearer token. */
  readonly needsApiKey: boolean
}

/** Retries of a sender. */
export interface Retries {
  /** Delays between attempts, in milliseconds. Null: undocumented, or chosen by the user. */
  readonly delaysMs: readonly number[] | null
  /** Attempts at most, where `delaysMs` is null. Null: undocumented. */
  readonly maxAttempts: number | null
  /** Time from the first to the last attempt, in milliseconds. Null: undocumented. */
  readonly windowMs: number | null
  /** 4xx statuses that end the retries. Null: undocumented. */
  readonly final4xx: readonly number[] | { readonly allBut: readonly number[] } | null
}

/** A test delivery: signed, acknowledged and never stored. Each reference has this text, or any text if true. */
export interface TestBody {
  readonly when: Readonly<Record<string, string | true>>
  readonly status: number
}

/** A sender as data. In the files of providers, a link above a fact leads to its documentation. */
export interface Provider {
  readonly verify: readonly Verification[]
  /** Null without fetched keys. */
  readonly keyEndpoint: KeyEndpoint | null
  /** A header counts only if the signature covers it. Null, or without a value: `sha256:` and the digest of the body. */
  readonly id: Reference | null
  /** Null, or without a value: `unknown`. */
  readonly type: Reference | null
  /** Null, or without a value: the time of receipt. */
  readonly createdAt: Reference | null
  /** Parts of the ordering key. Empty, or a part without a value: no order. */
  readonly key: readonly Reference[]
  /** Body paths that change between attempts of one event. */
  readonly volatile: readonly string[]
  /** GET or HEAD, if the sender tests the URL with it before it sends deliveries. */
  readonly probes: readonly ('GET' | 'HEAD')[]
  readonly tests: readonly TestBody[]
  /** True if bodies may be gzipped and the signature is of the inflated bytes. */
  readonly inflates: boolean
  /** The sender treats a later response as failed. Null: undocumented, or chosen by the user. */
  readonly ackLimitMs: number | null
  readonly retries: Retries
  /** True if documented: each attempt gets a new signature. Only then are old timestamps rejected. */
  readonly resigns: boolean
}

export const undocumented: Retries = { delaysMs: null, maxAttempts: null, windowMs: null, final4xx: null }

/** Fills in what a sender doesn't have or document. */
export function defineProvider(
  provider: Pick<Provider, 'verify'> &
    Partial<Omit<Provider, 'verify' | 'retries'>> & { readonly retries?: Partial<Retries> },
): Provider {
  return {
    keyEndpoint: null,
    id: null,
    type: null,
    createdAt: null,
    key: [],
    volatile: [],
    probes: [],
    tests: [],
    inflates: false,
    ackLimitMs: null,
    resigns: false,
    ...provider,
    retries: { ...undocumented, ...provider.retries },
  }
}

export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const seconds = (...delays: readonly number[]): readonly number[] => delays.map((delay) => delay * 1_000)
export const hours = (...delays: readonly number[]): readonly number[] => delays.map((delay) => delay * 3_600_000)
