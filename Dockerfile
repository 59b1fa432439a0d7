# syntax=docker/dockerfile:1

# Builds dist/ with the development packages, which stay behind in this stage.
FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install script is needed: better-sqlite3 carries its binaries, and this Node is new enough.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node .ci/build.mjs

# What runs needs at run time, and nothing else.
FROM node:26-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-slim
ENV NODE_ENV=production \
    INBOX_HOST=0.0.0.0 \
    INBOX_DATABASE_URL=sqlite:/data/inbox.db \
    INBOX_HANDLERS=/app/handlers \
    MALLOC_ARENA_MAX=2 \
    PATH=/app/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# `docker exec CONTAINER onchain-inbox …` works. The folder of the handlers is empty until yours are mounted there.
RUN ln -sf ../../dist/src/cli.js node_modules/.bin/onchain-inbox && mkdir /app/handlers /data && chown 1000:1000 /data
USER 1000:1000
VOLUME /data
EXPOSE 8080
# Alive, not ready: a full disk is no reason to restart. On the admin port, which has no TLS and no senders.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.INBOX_ADMIN_PORT || 8081}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node itself gets the signals: no npm, no shell in between. SIGUSR1 must not open a debugger. docs/deploy.md explains the settings for memory.
CMD ["node", "--disable-sigusr1", "--max-semi-space-size=4", "dist/src/cli.js", "serve", "--json"]
