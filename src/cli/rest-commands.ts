import { InvalidArgumentError, Option, type Command } from 'commander'
import { z } from 'zod'
import { operations, type Operation } from '../../schema/rest/operations.ts'
import { pageParameters } from '../../schema/rest/parameters.ts'
import { routes } from '../../schema/rest/routes.ts'
import { ApiError, createClient, type OperationId, type PageOf, type Pages } from '../client/index.ts'
import { InboxError } from '../base/errors.ts'
import { parseSecretsFile } from '../signature/keys.ts'
import { parseCount } from './arguments.ts'
import { collect } from './inbox-command.ts'
import { host } from './host.ts'
import { withExamples, printError, printResult, withOutputOptions, type OutputOptions } from './output.ts'
import { renderList, renderRecord } from './table.ts'
import { readSecretArgument, secretForms } from './secret-argument.ts'
import { readApiSettings, withApiOptions, withConfigOption, type ApiOptions } from './settings.ts'

/** A command for one operation. Its options are named after the fields: `--webhook-url` is `webhook_url`. */
interface RestCommand {
  readonly operation: OperationId
  /** The field that is the argument, and its name in help; default: the field in the path. */
  readonly argument?: readonly [field: string, shownAs: string]
  readonly example?: string
  /** Columns of a list's table. */
  readonly columns?: string
}

const walletExample = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045 --network ethereum'

const groups: Readonly<Record<string, string>> = {
  webhooks: 'Create, list, change and delete webhooks of the account',
  alerts: 'Create and list alerts of the account',
  tokens: 'Look up tokens',
  wallets: 'Look up wallets',
}
const commands: Readonly<Record<string, RestCommand>> = {
  'webhooks create': {
    operation: 'createWebhook',
    example: '--url https://inbox.example.com/webhooks --events "*" --secret @/run/secrets/webhook',
  },
  'webhooks list': {
    operation: 'listWebhooks',
    columns: 'webhook_id status url events created_at',
  },
  'webhooks update': {
    operation: 'updateWebhook',
    example: 'wh_4f9a1c --events wallet.large_trade,token.new_listing',
  },
  'webhooks delete': { operation: 'deleteWebhook', example: 'wh_4f9a1c' },
  'alerts create': {
    operation: 'createAlert',
    example:
      '--type price_above --address 0x6982508145454ce325ddbe47a25d4ec3d2311933 --network ethereum --threshold 2 ' +
      '--webhook-url https://inbox.example.com/webhooks',
  },
  'alerts list': {
    operation: 'listAlerts',
    columns: 'alert_id status type network address threshold label created_at',
  },
  'tokens get': {
    operation: 'getToken',
    example: '0x6982508145454ce325ddbe47a25d4ec3d2311933 --network ethereum',
  },
  'tokens search': {
    operation: 'searchTokens',
    argument: ['q', 'text'],
    example: 'pepe --network ethereum',
    columns: 'symbol name network address price_usd change_pct_24h liquidity_usd risk_level',
  },
  'wallets get': { operation: 'getWallet', example: walletExample },
  'wallets portfolio': {
    operation: 'getWalletPortfolio',
    example: walletExample,
    columns: 'symbol token_address balance price_usd value_usd cost_basis_usd unrealised_pnl_usd allocation_pct',
  },
  'wallets pnl': { operation: 'getWalletPnl', example: walletExample },
  'wallets trades': {
    operation: 'listWalletTrades',
    example: walletExample,
    columns:
      'timestamp type token_in.amount token_in.symbol token_out.amount token_out.symbol token_out.value_usd fee_usd dex tx_hash',
  },
  networks: { operation: 'listNetworks', columns: 'id name chain_id native_currency status features' },
}

/** The request fields of an operation, without paging. */
function fieldsOf({ params, query, body }: Operation): readonly (readonly [name: string, schema: z.ZodType])[] {
  const fields: Readonly<Record<string, z.ZodType>> = { ...params.shape, ...query.shape, ...body?.shape }
  return Object.entries(fields).filter(([name]) => !Object.hasOwn(pageParameters, name))
}

function toOption(field: string, schema: z.ZodType): Option {
  const name = field.replaceAll('_', '-')
  const inner = unwrapped(schema)
  const isNumber = inner instanceof z.ZodNumber
  const isList = inner instanceof z.ZodArray
  const form = field === 'secret' ? `; ${secretForms}` : isList ? '; separated by commas' : ''
  const value = isNumber ? 'number' : name.replace(/.*-/, '')
  const option = new Option(`--${name} <${value}>`, descriptionOf(schema) + form)
  if (inner instanceof z.ZodEnum) option.choices(inner.options.map(String))
  if (isNumber) option.argParser(parsePositive)
  if (isList) option.argParser((text) => text.split(',').map((part) => part.trim()))
  return option.makeOptionMandatory(!schema.safeParse(undefined).success)
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema
}

/** First sentence of a schema's description, in lower case for help. */
function descriptionOf(schema: z.ZodType): string {
  const [first = ''] = (schema.description ?? unwrapped(schema).description ?? '').split(/\.(?: |$)/)
  return first.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
}

/** Adds the commands on one resource of the REST service (R51–R59, R64, R65). */
export function addRestCommands(program: Command, name: string): void {
  const description = groups[name]
  const parent = description === undefined ? program : program.command(name).description(description)
  const ofResource = Object.entries(commands).filter(([words]) => words.split(' ')[0] === name)
  for (const [words, command] of ofResource)
    addRestCommand(parent.command(words.split(' ')[1] ?? words), words, command)
  const [first] = ofResource
  if (description !== undefined && first !== undefined) withExamples(parent, [exampleOf(...first)])
}

function exampleOf(words: string, { example }: RestCommand): string {
  return [words, example].filter(Boolean).join(' ')
}

const maxPerPage = 100

interface Options extends ApiOptions, OutputOptions {
  readonly limit: number
  readonly cursor?: string
  readonly [name: string]: unknown
}

function addRestCommand(command: Command, words: string, rest: RestCommand): void {
  const { operation } = rest
  const columns = rest.columns?.split(' ')
  const definition = operations.find(({ id }) => id === operation) as Operation
  const fields = fieldsOf(definition)
  const [pathField] = /(?<=\{)\w+/.exec(routes[operation].path) ?? []
  const [argument, shownAs = argument] = rest.argument ?? [pathField]
  const optional = fields
    .filter(([field]) => field !== argument)
    .map(([field, schema]) => [field, toOption(field, schema)] as const)
  command.description(definition.summary)
  for (const [field, schema] of fields) if (field === argument) command.argument(`<${shownAs}>`, descriptionOf(schema))
  for (const [, option] of optional) command.addOption(option)
  const isPaged = routes[operation].data === 'page'
  if (isPaged) {
    command
      .option('--limit <number>', 'how many to list', parseCount, 20)
      .option('--cursor <cursor>', 'continue after an earlier list')
  }
  withOutputOptions(withConfigOption(withApiOptions(command)), 'print one JSON document, numbers with all digits')
  withExamples(command, [exampleOf(words, rest)]).action(async (...values: readonly unknown[]) => {
    const options = values[argument === undefined ? 0 : 1] as Options
    const args = Object.fromEntries(optional.map(([field, option]) => [field, options[option.attributeName()]]))
    if (argument !== undefined) args[argument] = values[0]
    try {
      const { url, key } = await readApiSettings(options)
      if (typeof args['secret'] === 'string') args['secret'] = await readOneSecret(args['secret'], url)
      // The options come from the operation's schema, so the arguments fit.
      const call = createClient({ baseUrl: url, apiKey: key })[operation] as (args: object) => unknown
      const fetchAnswer = async (query?: object) => {
        const called = call({ ...args, ...query })
        return (isPaged ? (called as Pages<unknown>).page() : called) as Promise<PageOf<unknown>>
      }
      if (columns === undefined) {
        printResult(exactly(await fetchAnswer()) as object, options, (value) => renderRecord(words, value))
        return
      }
      const fetchPage = async (query: object) => {
        const page = await fetchAnswer(query)
        const { next_cursor: next, total = null } = page.meta
        return { data: exactly(page) as object[], next_cursor: next || null, ...(isPaged && { total }) }
      }
      const { limit, cursor } = options
      const list = isPaged
        ? await collect(fetchPage, cursor === undefined ? {} : { cursor }, limit, maxPerPage)
        : await fetchPage({})
      printResult(list, options, ({ data, next_cursor }) => renderList(columns, data, next_cursor))
    } catch (error) {
      host().exitCode = printError(toInboxError(error), options)
    }
  })
}

/** Reads a webhook secret. A file with several labelled secrets, as in INBOX_SECRETS_FILE, is ambiguous. */
async function readOneSecret(argument: string, url: string): Promise<string> {
  const [secret, ...others] = parseSecretsFile(await readSecretArgument(argument, { url }))
  if (secret !== undefined && others.length === 0) return secret.key.export().toString()
  throw new InboxError('usage', '--secret holds several secrets: expected only the one to register')
}

/** Converts an error of the service, with the request id. */
function toInboxError(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError)) return thrown
  const { message, requestId, isRetryable } = thrown
  const request = requestId === null ? '' : ` (request ${requestId})`
  return new InboxError(isRetryable ? 'api_unavailable' : 'api_refused', `${message}${request}`, { cause: thrown })
}

const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** `data` of an answer with raw numbers: `JSON.stringify` writes them as the service did. */
function exactly(answer: PageOf<unknown>): unknown {
  const at = (value: unknown, path: string): unknown => {
    if (typeof value === 'number') return rawJSON(answer.exact(path) ?? String(value))
    if (Array.isArray(value)) return value.map((item, index) => at(item, `${path}.${index}`))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, at(member, `${path}.${name}`)]))
  }
  return at(answer.data, 'data')
}

function parsePositive(text: string): number {
  const value = /^\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN
  if (value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('Expected a number above 0.')
}
