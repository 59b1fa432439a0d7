import { randomBytes } from 'node:crypto'
import { composeFile, dockerfile, dockerIgnore, gitIgnore } from './container.ts'
import { handlerFile, handlerName, handlerTest } from './handler.ts'

export interface ProjectOptions {
  /** Its name as a package: see `packageName`. */
  readonly name: string
  /** What package.json asks for: a version, or anything else that npm takes. */
  readonly dependency: string
  /** Of the user that the container runs as, who must be able to read the secret. */
  readonly user: number
  /** The secret of the webhook. */
  readonly secret: string
}

export interface ProjectFile {
  /** Its path in the project, with forward slashes. */
  readonly path: string
  readonly content: string
  /** For its own user only: it holds a secret. */
  readonly isSecret?: true
}

/** A secret that nobody can guess, as text that can be typed: 43 characters. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** What npm takes for the name of a package, from the name of a folder. */
export function packageName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replaceAll(/[^a-z0-9._~-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '')
  return name === '' ? 'inbox' : name.slice(0, 214)
}

/** The files of a project that receives events with one handler, which has a test. */
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
      test: 'node --test',
      check: 'onchain-inbox check',
    },
    dependencies: { 'onchain-inbox': dependency },
    devDependencies: { '@types/node': '^24.0.0' },
    engines: { node: '>=24' },
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

const configFile = `// Settings by the names that they have in the environment, which overrules what is said here: npx onchain-inbox check
export default {
  INBOX_SECRETS_FILE: './secrets/webhook',
  INBOX_DATABASE_URL: 'sqlite:./data/inbox.db',
  INBOX_HANDLERS: './handlers',
}
`

/** For editors, and for \`npx tsc\`: handlers run as they are, by Node, which erases types and compiles nothing. */
export const compilerSettings = `{
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

3. Give the service the address at which it reaches this machine, and the secret in \`secrets/webhook\`; or write the secret
   that it gives you into that file. Then \`npx onchain-inbox doctor\` says what else is to be looked at.

In a container: \`docker compose up --build\`, after the first step.

| | |
|---|---|
| \`handlers/${handlerName}.ts\` | the handler; every file in this folder is one, and runs as it is |
| \`test/${handlerName}.test.ts\` | its test, without a network, on a clock of its own |
| \`onchain-inbox.config.ts\` | settings; \`npm run check\` prints what would be used |
| \`secrets/webhook\` | the secret that deliveries are signed with; git does not see it |
| \`data/\` | the database, once it has been started |
`
}
