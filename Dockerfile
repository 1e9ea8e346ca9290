# One image for all vendors, and one for the demo application. Built from the repository: no registry of ours is assumed.
#
#   docker build --target gpulse --tag gpulse:0.2.0 .
#   docker build --target demo-app --tag gpulse-demo-app:0.2.0 .
#
# What a GPU needs beside it is a flag of `docker run`, not a part of the image: see docs/guides/compose.md.
# The Node of the single-file programs (scripts/single-file/parts.mjs): 24 LTS, supported until April 2028.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY web/package.json ./web/
COPY deploy/demo-app/package.json ./deploy/demo-app/
RUN npm ci --include=dev --no-audit --no-fund
COPY . .
# The commit for `gpulse --version`, which a context without .git does not know: --build-arg GPULSE_COMMIT=$(git rev-parse --short=7 HEAD).
ARG GPULSE_COMMIT=unknown
RUN npm run build
# Maps and lists of inputs are for those who build.
RUN find dist \( -name '*.map' -o -name inputs.json -o -name '.*' -type f \) -delete
RUN npx esbuild deploy/demo-app/gateway/main.ts deploy/demo-app/worker/main.ts deploy/demo-app/ml/main.ts deploy/demo-app/load/main.ts --bundle --platform=node --format=esm --target=node20.19 --external:pg-native --outbase=deploy/demo-app --outdir=/out/demo-app --out-extension:.js=.mjs --log-level=error "--banner:js=import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

# The runtime has no package manager to be misused.
FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-*
ENV NODE_ENV=production
STOPSIGNAL SIGTERM

FROM runtime AS demo-app
LABEL org.opencontainers.image.title="gpulse demo application" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /opt/demo-app
COPY --from=build /out/demo-app ./
COPY deploy/compose/demo-app.mjs deploy/compose/healthy.mjs ./
USER 10001:10001
ENTRYPOINT ["node", "/opt/demo-app/demo-app.mjs"]

FROM runtime AS gpulse
LABEL org.opencontainers.image.title="gpulse" \
      org.opencontainers.image.description="GPU monitoring: agent, hub and pipes." \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /opt/gpulse
COPY package.json LICENSE ./
COPY bin ./bin
COPY deploy/compose/healthy.mjs ./
# The native parts, which no bundle can hold: koffi calls NVIDIA's library, DuckDB answers SQL.
COPY --from=build /src/node_modules/koffi ./node_modules/koffi
COPY --from=build /src/node_modules/@koromix ./node_modules/@koromix
COPY --from=build /src/node_modules/@duckdb ./node_modules/@duckdb
COPY --from=build /src/node_modules/detect-libc ./node_modules/detect-libc
COPY --from=build /src/dist/agent ./dist/agent
COPY --from=build /src/dist/gpulse ./dist/gpulse
COPY --from=build /src/dist/web ./dist/web
RUN ln -s /opt/gpulse/bin/gpulse /usr/local/bin/gpulse && install -d -o 10001 -g 10001 /data
ENV GPULSE_DATA=/data
USER 10001:10001
EXPOSE 9400 9410
# The port is that of --port or EXPORTER_PORT. With a port in gpulse.yaml, give --health-cmd the address.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["node", "/opt/gpulse/healthy.mjs"]
ENTRYPOINT ["node", "/opt/gpulse/bin/gpulse"]
CMD ["agent"]
