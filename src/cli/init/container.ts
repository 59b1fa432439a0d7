/** Runs what is in the project as it is: handlers need no build. */
export function dockerfile(user: number): string {
  return `# syntax=docker/dockerfile:1
FROM node:26-slim
ENV NODE_ENV=production \\
    INBOX_HOST=0.0.0.0 \\
    INBOX_DATABASE_URL=sqlite:/data/inbox.db
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY onchain-inbox.config.ts ./
COPY handlers ./handlers
RUN mkdir /data && chown ${user}:${user} /data
USER ${user}:${user}
VOLUME /data
EXPOSE 8080
# Node itself gets the signals: no npm, no shell in between. SIGUSR1 must not open a debugger.
CMD ["node", "--disable-sigusr1", "node_modules/onchain-inbox/dist/src/cli.js", "serve"]
`
}

export function composeFile(user: number): string {
  return `# docker compose up --build
services:
  inbox:
    build: .
    restart: unless-stopped
    init: true
    read_only: true
    # Whoever secrets/webhook belongs to: compose mounts secret files as they are.
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
    # Alive, not ready: a full disk is no reason to restart. On the admin port, which is on loopback and has no TLS.
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

export const gitIgnore = `node_modules/
/data/
/secrets/
*.log
`

export const dockerIgnore = `node_modules/
data/
secrets/
.git/
`
