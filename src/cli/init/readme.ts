import { handlerName } from './handler.ts'
import type { ProjectOptions } from './project.ts'

export function readme({ name }: Pick<ProjectOptions, 'name'>): string {
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
