import { randomBytes } from 'node:crypto'

export interface ProjectOptions {
  /** Package name: see `packageName`. */
  readonly name: string
  /** Version or other npm spec of onchain-inbox. */
  readonly dependency: string
  /** User id of the container, which must be able to read the secret. */
  readonly user: number
  readonly secret: string
}

export interface ProjectFile {
  /** Relative path with forward slashes. */
  readonly path: string
  readonly content: string
  /** Only its owner may read it. */
  readonly isSecret?: true
}

/** A random secret of 43 characters. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** A valid npm package name made from a folder name. */
export function packageName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replaceAll(/[^a-z0-9._~-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '')
  return name === '' ? 'inbox' : name.slice(0, 214)
}

/** Files of a project with one handler and its test. */
export function projectFiles(options: ProjectOptions): readonly ProjectFile[] {
  const { secret, user } = options
  return [
    { path: 'package.json', content: manifest(options) },
    { path: 'onchain-inbox.config.ts', content: configFile },
    { path: `handlers/${handlerName}.ts`, content: handlerFile },
    { path: `test/${handlerName}.test.ts`, content: handlerTest },
    { path: 'tsconfig.json', content: compilerSettings },
    { path: 'Dockerfile', content: dockerfile(user) },
    { path: '.dockerignore', content: dockerIgnore },
    { path: 'compose.yaml', content: composeFile(user) },
    { path: '.gitignore', content: gitIgnore },
    { path: 'README.md', content: readme(options) },
    { path: 'secrets/webhook', content: `${secret}\n`, isSecret: true },
  ]
}

function manifest({ name, dependency }: ProjectOptions): string {
  const content = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      start: 'onchain-inbox serve',
      // An older Node would find no tests, and pass.
      pretest: 'onchain-inbox --version',
      test: 'node --test',
      check: 'onchain-inbox check',
    },
    dependencies: { 'onchain-inbox': dependency },
    devDependencies: { '@types/node': '^24.0.0' },
    engines: { node: '>=24' },
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

const configFile = `// Settings, named like their environment variables, which override this file. To print them: npx onchain-inbox check
export default {
  INBOX_SECRETS_FILE: './secrets/webhook',
  INBOX_DATABASE_URL: 'sqlite:./data/inbox.db',
  INBOX_HANDLERS: './handlers',
}
`

/** For editors and \`npx tsc\`. Node runs handlers directly: it erases types and compiles nothing. */
const compilerSettings = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext.disposable", "esnext.iterator", "dom", "dom.iterable"],
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "noEmit": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true
  }
}
`

function readme({ name }: Pick<ProjectOptions, 'name'>): string {
  return `# ${name}

Receives signed on-chain events by webhook, stores each one before it is acknowledged, and runs the handlers in \`handlers/\` on it.

1. Install, and run the test of the handler:

   \`\`\`sh
   npm install
   npm test
   \`\`\`

2. Start it, and send it a signed event from a second terminal:

   \`\`\`sh
   npm start
   npx onchain-inbox trigger wallet.large_trade --url http://127.0.0.1:8080/webhooks --secret @secrets/webhook
   npx onchain-inbox events list
   \`\`\`

3. Register your public webhook URL and the secret in \`secrets/webhook\` with the service. If the service generates a secret,
   write it into that file. Then check everything with \`npx onchain-inbox doctor\`.

In a container: \`docker compose up --build\`, after the first step.

| | |
|---|---|
| \`handlers/${handlerName}.ts\` | the handler; every file in this folder is a handler and runs without a build |
| \`test/${handlerName}.test.ts\` | its test, with a test clock and no network |
| \`onchain-inbox.config.ts\` | settings; \`npm run check\` prints them |
| \`secrets/webhook\` | the secret that signs deliveries; ignored by git |
| \`data/\` | the database, after the first start |
`
}

const handlerName = 'large-trades'

const handlerFile = `import { defineHandler } from 'onchain-inbox'

/** Counts the large trades of each wallet, and logs them. docs/handlers.md lists all options. */
export default defineHandler({
  type: 'wallet.large_trade',
  async run(event, ctx) {
    const { wallet_address: wallet, trade_type: side, token_symbol: token } = event.data
    // State commits together with the run, so a crash never counts an event twice. A replay counts it again.
    const trades = ((await ctx.state.get<number>(wallet)) ?? 0) + 1
    ctx.state.set(wallet, trades)
    ctx.log.info({ wallet, side, token, usd: event.exact('data.amount_usd'), trades }, 'large trade')
  },
})
`

const handlerTest = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEvent, createTestInbox } from 'onchain-inbox/testing'
import largeTrades from '../handlers/large-trades.ts'

test('counts the trades of a wallet, and a duplicate once', async () => {
  await using inbox = await createTestInbox({ handlers: [{ name: 'large-trades', ...largeTrades }] })
  const event = createEvent('wallet.large_trade', { data: { wallet_address: 'w', amount_usd: 250_000 } })
  assert.deepEqual(await inbox.deliver(event), { status: 200, body: { status: 'accepted', id: event.id } })
  assert.deepEqual(await inbox.deliver(event), { status: 200, body: { status: 'duplicate', id: event.id } })
  await inbox.deliver(createEvent('wallet.large_trade', { data: { wallet_address: 'w' } }))
  await inbox.idle()
  assert.deepEqual(await inbox.state('large-trades'), { w: 2 })
})
`

function dockerfile(user: number): string {
  return `# syntax=docker/dockerfile:1
FROM node:26-slim
ENV NODE_ENV=production \\
    INBOX_HOST=0.0.0.0 \\
    INBOX_DATABASE_URL=sqlite:/data/inbox.db \\
    MALLOC_ARENA_MAX=2
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY onchain-inbox.config.ts ./
COPY handlers ./handlers
RUN mkdir /data && chown ${user}:${user} /data
USER ${user}:${user}
VOLUME /data
EXPOSE 8080
# Node gets the signals directly, without npm or a shell. SIGUSR1 must not open a debugger.
CMD ["node", "--disable-sigusr1", "--max-semi-space-size=4", "node_modules/onchain-inbox/dist/src/cli.js", "serve", "--json"]
`
}

function composeFile(user: number): string {
  return `# docker compose up --build
services:
  inbox:
    build: .
    restart: unless-stopped
    init: true
    read_only: true
    # The owner of secrets/webhook: compose mounts secret files with their owner and mode.
    user: '${user}:${user}'
    cap_drop: [ALL]
    security_opt: ['no-new-privileges:true']
    mem_limit: 1g
    pids_limit: 100
    stop_grace_period: 30s
    ports:
      - '127.0.0.1:8080:8080'
    environment:
      INBOX_SECRETS_FILE: /run/secrets/webhook
    secrets: [webhook]
    volumes:
      - data:/data
    # Checks liveness, not readiness: a restart doesn't help a full disk. The admin port is on loopback, without TLS.
    healthcheck:
      test: [CMD, node, -e, "fetch('http://127.0.0.1:8081/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
      interval: 10s
      timeout: 3s
      start_period: 20s
      retries: 3

volumes:
  data:

secrets:
  webhook:
    file: ./secrets/webhook
`
}

const gitIgnore = `node_modules/
/data/
/secrets/
*.log
`

const dockerIgnore = `node_modules/
data/
secrets/
.git/
`
