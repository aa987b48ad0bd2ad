import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '@odograph/runtime/config';
import { Counter, exportZero, Histogram, type Registry } from '@odograph/runtime/metrics';
import { isInNetworks, parseNetworks } from '@odograph/runtime/network-address';
import { healthOf, type RunningServices } from '@odograph/runtime/service';
import Type from 'typebox';
import { requireAdmin } from './authentication.ts';
import type { Http } from './http.ts';
import { word } from './schemas.ts';

const Health = Type.Object(
  {
    status: word(['ok', 'failing', 'draining']),
    services: Type.Record(
      Type.String(),
      Type.Object({ ok: Type.Boolean(), state: Type.String({ examples: ['running'] }) }, { title: 'ServiceHealth' }),
      { examples: [{ query: { ok: true, state: 'running' } }] },
    ),
  },
  { title: 'Health' },
);

/** The time between the request to stop a process and the close of its connections. */
export interface Drain {
  readonly isActive: boolean;
  /** From now on /health answers 503, while requests are answered as before, each the last of its connection. */
  begin(milliseconds: number): Promise<void>;
}

/**
 * Lets load balancers turn to other replicas before this one refuses anything: a request on a connection that closes may
 * or may not have been carried out, so clients cannot repeat it safely. Call it before routes are added.
 */
export function createDrain(http: Http): Drain {
  let isActive = false;
  http.addHook('onSend', async (_request, reply) => {
    if (isActive) reply.header('connection', 'close');
  });
  return {
    get isActive() {
      return isActive;
    },
    async begin(milliseconds) {
      isActive = true;
      await delay(milliseconds);
    },
  };
}

export interface OperationOptions {
  services(): RunningServices;
  readonly metrics: Registry;
  readonly adminToken: string;
  /** Access to /metrics: networks without a token, others with METRICS_TOKEN or the admin token. */
  readonly config: Pick<Config, 'METRICS_NETWORKS' | 'METRICS_TOKEN'>;
  readonly drain?: Drain;
}

/**
 * Adds GET /health, 200 while every service of this process is healthy, else 503, also while it drains; and GET /metrics
 * for Prometheus.
 */
export function addOperationRoutes(http: Http, options: OperationOptions): void {
  const { services, metrics, drain = createDrain(http) } = options;
  http.get(
    '/health',
    {
      schema: {
        tags: ['operations'],
        summary: 'State of each service; 503 while one fails or the process drains',
        response: { 200: Health, 503: Health },
      },
      config: { rateLimit: false },
    },
    async (_request, reply) => {
      const states = await healthOf(services());
      const ok = Object.values(states).every((state) => state.ok);
      if (drain.isActive) return reply.code(503).send({ status: 'draining', services: states });
      return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'failing', services: states });
    },
  );
  countFailures(http, metrics);
  measureRequests(http, metrics);
  addMetricsRoute(http, options);
}

function addMetricsRoute(http: Http, { metrics, adminToken, config }: OperationOptions): void {
  const networks = parseNetworks(config.METRICS_NETWORKS) ?? [];
  const tokens = config.METRICS_TOKEN === undefined ? [adminToken] : [adminToken, config.METRICS_TOKEN];
  const requireToken = requireAdmin(tokens.join(','));
  http.get(
    '/metrics',
    {
      schema: {
        tags: ['operations'],
        summary: 'Metrics for Prometheus; METRICS_TOKEN or the admin token is needed outside of METRICS_NETWORKS',
        security: [{}, { adminToken: [] }],
        produces: ['text/plain'],
        response: { 200: Type.String() },
      },
      config: { rateLimit: false },
      async onRequest(request, reply) {
        // An address behind a proxy that is not trusted is the proxy's own, so such a request needs the token.
        const isProxied = request.ips === undefined && request.headers['x-forwarded-for'] !== undefined;
        if (isProxied || !isInNetworks(request.ip, networks)) await requireToken(request, reply);
      },
    },
    async (_request, reply) => reply.header('content-type', metrics.contentType).send(await metrics.metrics()),
  );
}

/** Counts failures by code: guesses at credentials show as INVALID_CREDENTIALS, INVALID_TOKEN and TOO_MANY_REQUESTS. */
function countFailures(http: Http, metrics: Registry): void {
  const failures = new Counter({
    name: 'odograph_http_failures_total',
    help: 'Requests answered with a failure, by its code',
    labelNames: ['code'] as const,
    registers: [metrics],
  });
  exportZero(failures, { code: 'INTERNAL_ERROR' });
  http.addHook('onResponse', async ({ failure }) => {
    if (failure !== undefined) failures.inc({ code: failure });
  });
}

/** Measures requests by the pattern of their route, never by their path, which holds ids. */
function measureRequests(http: Http, metrics: Registry): void {
  const durations = new Histogram({
    name: 'odograph_http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer, by route, method and status',
    labelNames: ['route', 'method', 'status'] as const,
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [metrics],
  });
  http.addHook(
    'onResponse',
    async ({ is404, routeOptions: { url = 'unknown' }, method }, { statusCode, elapsedTime }) => {
      const labels = is404 ? { route: 'unknown', method: 'any' } : { route: url, method };
      durations.observe({ ...labels, status: String(statusCode) }, elapsedTime / 1000);
    },
  );
}
