import { Counter, type Registry } from '@odograph/runtime/metrics';
import { healthOf, type RunningServices } from '@odograph/runtime/service';
import Type from 'typebox';
import { createDrain, type Drain } from './drain.ts';
import type { Http } from './http.ts';

const Health = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('failing'), Type.Literal('draining')]),
  services: Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), state: Type.String() })),
});

/**
 * GET /health: 200 when every service of this process is well, else 503, and 503 while it drains; and GET /metrics for
 * Prometheus.
 */
export function addOperationRoutes(
  http: Http,
  services: () => RunningServices,
  metrics: Registry,
  drain: Drain = createDrain(http),
): void {
  http.get(
    '/health',
    { schema: { tags: ['operations'], response: { 200: Health, 503: Health } }, config: { rateLimit: false } },
    async (_request, reply) => {
      const states = await healthOf(services());
      const ok = Object.values(states).every((state) => state.ok);
      if (drain.active) return reply.code(503).send({ status: 'draining', services: states });
      return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'failing', services: states });
    },
  );
  countFailures(http, metrics);
  http.get('/metrics', { schema: { tags: ['operations'] }, config: { rateLimit: false } }, async (_request, reply) =>
    reply.header('content-type', metrics.contentType).send(await metrics.metrics()),
  );
}

/** Counts what is refused: guesses at credentials show as INVALID_CREDENTIALS, INVALID_TOKEN and TOO_MANY_REQUESTS. */
function countFailures(http: Http, metrics: Registry): void {
  const failures = new Counter({
    name: 'odograph_http_failures_total',
    help: 'Requests answered with a failure, by its code',
    labelNames: ['code'] as const,
    registers: [metrics],
  });
  http.addHook('onResponse', async ({ failure }) => {
    if (failure !== undefined) failures.inc({ code: failure });
  });
}
