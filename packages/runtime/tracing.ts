import type { ResolvedConfig } from './config.ts';
import type { SpanDescription, Tracer } from './open-telemetry.ts';
import type { ServiceHost } from './service.ts';

export type { OpenSpan } from './open-telemetry.ts';

let tracer: Tracer | undefined;

/** Returns the tracer of this process; undefined unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
export function currentTracer(): Tracer | undefined {
  return tracer;
}

/** Starts the export of spans to OTEL_EXPORTER_OTLP_ENDPOINT; without it, OpenTelemetry is not loaded. */
export async function startTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Pick<ResolvedConfig, 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  version: string,
  { logger, onStop }: Pick<ServiceHost, 'logger' | 'onStop'>,
): Promise<void> {
  if (endpoint === undefined) return;
  const { openTracer } = await import('./open-telemetry.ts');
  const opened = openTracer(endpoint, version, logger);
  tracer = opened.tracer;
  onStop('traces', opened.stop);
}

/** Runs work in a span of its own; without a tracer it only runs. */
export async function inSpan<T>(description: SpanDescription, work: () => Promise<T>): Promise<T> {
  const span = tracer?.startSpan(description);
  if (span === undefined) return work();
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.fail(error);
    throw error;
  }
}
