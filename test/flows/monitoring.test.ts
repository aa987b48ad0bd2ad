import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createSelfSigned } from '@odograph/broker/connect/certificates.fixture';
import { type Database, openDatabase } from '@odograph/database/database';
import { findLastBackup } from '@odograph/database/installation';
import { platformVersion } from '@odograph/runtime/platform-version';
import { connectDevice } from '@odograph/simulator/device-connection';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { mqttUrlOf, testAdminToken, testConfig } from '@odograph/testkit/test-platform';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

interface TraceSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}
/** Receives traces over OTLP/HTTP (OTLP 1.5, "JSON Protobuf Encoding"). */
async function receiveTraces() {
  const spans: TraceSpan[] = [];
  let received = '';
  const receive = (body: string): void => {
    received += body;
    const { resourceSpans }: { resourceSpans: { scopeSpans: { spans: TraceSpan[] }[] }[] } = JSON.parse(body);
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
  };
  const server = createServer((request, response) => {
    void text(request).then(receive);
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, text: () => received, close: () => server.close() };
}

/** Makes a process write, when it ends, how many modules of OpenTelemetry it has loaded; prom-client loads its API. */
const modulesAtExit = `import { createRequire } from 'node:module';
  const { cache } = createRequire('file:///');
  process.on('exit', () => console.log('OpenTelemetry modules: ' +
    Object.keys(cache).filter((path) => /@opentelemetry.(?!api.)/.test(path)).length));`;
const countModules = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(modulesAtExit)}` };

/** Parses PromQL. @returns the names of its metrics, and the text at each syntax error */
function parseExpression(expression: string): { metrics: string[]; faults: string[] } {
  const text = expression.replaceAll('$__rate_interval', '1m');
  const metrics: string[] = [];
  const faults: string[] = [];
  parser.parse(text).iterate({
    enter({ name, from, to, type }) {
      if (type.isError) faults.push(text.slice(from));
      else if (name === 'Identifier') metrics.push(text.slice(from, to));
    },
  });
  return { metrics, faults };
}

const alertRules = async (): Promise<readonly Rule[]> =>
  parse(await read('infra/prometheus/alerts.yml')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules);
const dashboard = async (): Promise<Dashboard> => JSON.parse(await read('infra/grafana/dashboards/odograph.json'));

let platform: ChildPlatform;
let db: Database;
let dataDirectory: string;
let certificate: string;
let mqttUrl: string;
let receiver: Awaited<ReturnType<typeof receiveTraces>>;
const scrape = async () => (await fetch(`${platform.httpUrl}/metrics`)).text();
let firstScrape: string;
/** Every name that a scrape of a process with all services can contain. */
let names: Set<string>;
beforeAll(async () => {
  const config = await testConfig();
  dataDirectory = config.DATA_DIR;
  mqttUrl = mqttUrlOf(config);
  receiver = await receiveTraces();
  db = openDatabase({ url: config.DATABASE_URL, name: 'monitoring', size: 1 });
  const settings: Record<string, string> = await settingsFrom(config);
  if (hasOpenssl) {
    const files = createSelfSigned(dataDirectory, 'localhost');
    certificate = files.certificate;
    Object.assign(settings, {
      MQTT_TLS_CERTIFICATE: certificate,
      MQTT_TLS_KEY: files.key,
      MQTTS_PORT: String(await freePort()),
    });
  }
  Object.assign(settings, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '200' });
  platform = await spawnPlatform([], settings);
  firstScrape = await scrape();
  const metrics = [...firstScrape.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  names = new Set(metrics.flatMap((name) => [name, ...['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)]));
  // Written by Prometheus.
  names.add('up');
});
afterAll(async () => {
  await db.destroy();
  await platform.end('SIGTERM');
  receiver.close();
});

const unknownIn = (expressions: readonly string[]) =>
  expressions.flatMap((expression) => parseExpression(expression).metrics).filter((name) => !names.has(name));
const faultsIn = (expressions: readonly string[]) =>
  expressions.flatMap((expression) => parseExpression(expression).faults);

describe('traces', () => {
  it('follow a request to its statements, and continue the trace of the client', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = {
      authorization: `Bearer ${testAdminToken}`,
      traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01`,
    };
    await fetch(`${platform.httpUrl}/v1/x/admin/applications`, { headers });
    await eventually(async () => {
      const trace = receiver.spans.filter((span) => span.traceId === traceId);
      const request = trace.find(({ name }) => name === 'GET /v1/x/admin/applications');
      const statements = trace.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
      expect(statements.map(({ name }) => name)).toContain('select application');
    });
  });

  it('follow an upload through the queue to the statements that store it, without any of its content', async () => {
    const vehicle = await createVehicle(db, await createApplication(db));
    const device = await connectDevice(mqttUrl, vehicle);
    await device.upload({ timestamp: Date.now() / 1000, location: { latitude: 47.123456, longitude: 8.654321 } });
    const childrenOf = (parent: TraceSpan) =>
      receiver.spans.filter(
        ({ traceId, parentSpanId }) => traceId === parent.traceId && parentSpanId === parent.spanId,
      );
    await eventually(async () => {
      const sent = receiver.spans.filter(({ name }) => name === 'send uploads');
      const processed = sent.flatMap(childrenOf).filter(({ name }) => name === 'process uploads');
      expect(processed.flatMap(childrenOf).map(({ name }) => name)).toEqual(
        expect.arrayContaining(['begin', 'commit']),
      );
    });
    await device.close();
    for (const secret of [vehicle.deviceId, '47.123', '8.654', testAdminToken]) {
      expect(receiver.text()).not.toContain(secret);
    }
  });

  it('load OpenTelemetry only with a configured endpoint', async () => {
    const modulesOf = async (child: ChildPlatform) => {
      await child.end('SIGTERM');
      return Number(/OpenTelemetry modules: (\d+)/.exec(child.output())?.[1]);
    };
    const settings = { ...(await settingsFrom(await testConfig())), ...countModules };
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, HTTP_PORT: String(await freePort()) };
    const [without, traced] = await Promise.all([
      spawnPlatform(['registration'], settings).then(modulesOf),
      spawnPlatform(['registration'], { ...settings, ...endpoint }).then(modulesOf),
    ]);
    expect(without).toBe(0);
    expect(traced).toBeGreaterThan(0);
  });
});

describe('this check of expressions', () => {
  it('finds a syntax error and a metric that does not exist', () => {
    expect(faultsIn(['sum(rate(odograph_redis_durable[5m])'])).toHaveLength(1);
    expect(unknownIn(['rate(odograph_imaginary_total[5m]) > odograph_redis_durable'])).toEqual([
      'odograph_imaginary_total',
    ]);
  });
});

describe('the metrics of a process', () => {
  it('count requests by the pattern of their route, and all unknown paths together', async () => {
    const paths = ['/v1/x/vehicle/4711/trail', '/v1/x/vehicle/4712/trail', '/imaginary/4713', '/imaginary/4714'];
    await Promise.all(paths.map((path) => fetch(`${platform.httpUrl}${path}`)));
    const text = await scrape();
    const counts = text.split('\n').filter((line) => line.startsWith('odograph_http_request_duration_seconds_count'));
    expect(counts).toEqual(
      expect.arrayContaining([
        'odograph_http_request_duration_seconds_count{route="/v1/x/vehicle/:id/trail",method="GET",status="401"} 2',
        'odograph_http_request_duration_seconds_count{route="unknown",method="any",status="404"} 2',
      ]),
    );
    expect(text).not.toMatch(/imaginary|vehicle\/471/);
  });

  it('report the versions, disk space, database size and the absence of a backup', async () => {
    const text = await scrape();
    expect(text).toContain(`odograph_build_info{version="${platformVersion()}",node="${process.versions.node}"} 1`);
    const samples = new Map(text.split('\n').map((line) => line.split(' ', 2) as [name: string, value: string]));
    const sampleOf = (name: string) => Number(samples.get(name));
    const { bsize, blocks } = await statfs(dataDirectory);
    expect(sampleOf('odograph_disk_size_bytes{setting="DATA_DIR"}')).toBe(bsize * blocks);
    expect(sampleOf('odograph_disk_free_bytes{setting="DATA_DIR"}')).toBeGreaterThan(0);
    expect(sampleOf('odograph_disk_free_bytes{setting="DATA_DIR"}')).toBeLessThanOrEqual(bsize * blocks);
    expect(sampleOf('odograph_database_size_bytes')).toBeGreaterThan(1024 ** 2);
    const backup = await findLastBackup(db);
    expect(sampleOf('odograph_last_backup_timestamp_seconds')).toBe((backup?.completedAt.getTime() ?? 0) / 1000);
  });

  it.skipIf(!hasOpenssl)('report when the certificate of a setting expires', async () => {
    const expiry = Date.parse(new X509Certificate(await readFile(certificate)).validTo) / 1000;
    expect(await scrape()).toContain(
      `odograph_certificate_expiry_timestamp_seconds{setting="MQTT_TLS_CERTIFICATE"} ${expiry}\n`,
    );
  });
});

describe('the alert rules for Prometheus', () => {
  it('are valid PromQL over metrics that the platform has', async () => {
    const expressions = (await alertRules()).map(({ expr }) => expr);
    expect(expressions.length).toBeGreaterThan(10);
    expect(faultsIn(expressions)).toEqual([]);
    expect(unknownIn(expressions)).toEqual([]);
  });

  it('see the first increase of every counter, because it is exported as 0 before', async () => {
    const increases = (await alertRules()).flatMap(({ expr }) => [
      ...expr.matchAll(/increase\((?<name>\w+)(?:\{(?<label>[^}]*)\})?\[/g),
    ]);
    expect(increases.length).toBeGreaterThan(5);
    const lines = firstScrape.split('\n');
    const unseen = increases.flatMap(({ groups: { name = '', label = '' } = {} }) =>
      lines.some((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(label)) ? [] : [`${name}{${label}}`],
    );
    expect(unseen).toEqual([]);
  });

  it('have a name of their own, a severity, and say what to do', async () => {
    const rules = await alertRules();
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { labels, annotations } of rules) {
      expect(['page', 'ticket']).toContain(labels.severity);
      expect(annotations.summary).not.toBe('');
      expect(annotations.description).not.toBe('');
    }
  });
});

describe('the dashboard for Grafana', () => {
  it('has panels of valid PromQL over metrics that the platform has', async () => {
    const { panels } = await dashboard();
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(15);
    expect(faultsIn(expressions)).toEqual([]);
    expect(unknownIn(expressions)).toEqual([]);
  });
});
