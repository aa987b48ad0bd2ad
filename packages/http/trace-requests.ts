import { currentTracer, type OpenSpan } from '@odograph/runtime/tracing';
import type { FastifyRequest } from 'fastify';
import type { Http } from './http.ts';

/** Scraped every few seconds. */
const untraced = new Set(['/health', '/metrics']);

/** Makes a span of each request, by the pattern of its route: a path holds ids. Call it before other hooks are added. */
export function traceRequests(http: Http): void {
  const tracer = currentTracer();
  if (tracer === undefined) return;
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  http.addHook('onRequest', (request, _reply, next) => {
    const { is404, method, headers, routeOptions } = request;
    const route = is404 ? 'unknown' : (routeOptions.url ?? 'unknown');
    if (untraced.has(route)) return next();
    const span = tracer.startSpan({
      name: `${method} ${route}`,
      kind: 'server',
      attributes: { 'http.request.method': method, 'http.route': route },
      parent: [headers['traceparent']].flat()[0],
    });
    spans.set(request, span);
    span.run(next);
  });
  // The events of a body's stream are not part of the span.
  http.addHook('preValidation', (request, _reply, next) => {
    const span = spans.get(request);
    if (span === undefined) next();
    else span.run(next);
  });
  http.addHook('onResponse', (request, { statusCode }, next) => {
    spans.get(request)?.end({ 'http.response.status_code': statusCode });
    next();
  });
}
