import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  DiagLogLevel,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from './logger.ts';

/** A piece of work. Names and attributes never hold values of people, positions, secrets or parameters of SQL. */
export interface SpanDescription {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'producer' | 'consumer';
  readonly attributes?: Readonly<Record<string, string | number>>;
  /** The W3C traceparent of the work that caused it; otherwise the current span did. */
  readonly parent?: string | undefined;
}

export interface OpenSpan {
  /** Calls `work`, in which and in whose callbacks this span is the current one. */
  run<T>(work: () => T): T;
  end(attributes?: Readonly<Record<string, string | number>>): void;
  /** Ends the span of work that failed with this error. */
  fail(error: unknown): void;
}

export interface Tracer {
  startSpan(description: SpanDescription): OpenSpan;
  /** The W3C traceparent of the current span; undefined without one, and once it has ended. */
  readonly traceparent: string | undefined;
}

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Reads a traceparent (W3C Trace Context, section 3.2); undefined for another text. */
function parseTraceparent(text: string): Context | undefined {
  const [, traceId = '', spanId = '', flags = ''] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : undefined;
}

/** Names the kind of an error, never its message, which can hold values. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Opens the exporter of spans over OTLP/HTTP. OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and others apply too. */
export function openTracer(
  endpoint: string,
  version: string,
  logger: Logger,
): { tracer: Tracer; stop(): Promise<void> } {
  const report = (message: string): void => logger.warn({ reason: message }, 'traces not sent');
  const ignore = (): void => undefined;
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'odograph', 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` })),
    ],
  });
  const source = provider.getTracer('odograph', version);
  const current = new AsyncLocalStorage<Span>();
  const recording = (): Span | undefined => {
    const span = current.getStore();
    return span?.isRecording() ? span : undefined;
  };
  const contextOf = (parent: string | undefined): Context => {
    const remote = parent === undefined ? undefined : parseTraceparent(parent);
    const span = recording();
    return remote ?? (span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span));
  };
  const startSpan = ({ name, kind, attributes = {}, parent }: SpanDescription): OpenSpan => {
    const span = source.startSpan(name, { kind: kinds[kind], attributes }, contextOf(parent));
    return {
      run: (work) => current.run(span, work),
      end(more = {}) {
        span.setAttributes(more);
        span.end();
      },
      fail(error) {
        span.setAttribute('error.type', errorType(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  };
  const tracer: Tracer = {
    startSpan,
    get traceparent() {
      const context = recording()?.spanContext();
      return context && `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, '0')}`;
    },
  };
  return { tracer, stop: () => provider.shutdown() };
}
