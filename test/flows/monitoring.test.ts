import { readFile } from 'node:fs/promises';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { testConfig } from '@odograph/testkit/test-platform';
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
/** Every name that a scrape of a process with all services can contain. */
let names: Set<string>;
beforeAll(async () => {
  platform = await spawnPlatform([], await settingsFrom(await testConfig()));
  const text = await (await fetch(`${platform.httpUrl}/metrics`)).text();
  const metrics = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  names = new Set(metrics.flatMap((name) => [name, ...['bucket', 'sum', 'count'].map((part) => `${name}_${part}`)]));
  // Written by Prometheus.
  names.add('up');
});
afterAll(() => platform.end('SIGTERM'));

const unknownIn = (expressions: readonly string[]) =>
  expressions.flatMap((expression) => parseExpression(expression).metrics).filter((name) => !names.has(name));
const faultsIn = (expressions: readonly string[]) =>
  expressions.flatMap((expression) => parseExpression(expression).faults);

describe('this check of expressions', () => {
  it('finds a syntax error and a metric that does not exist', () => {
    expect(faultsIn(['sum(rate(odograph_redis_durable[5m])'])).toHaveLength(1);
    expect(unknownIn(['rate(odograph_imaginary_total[5m]) > odograph_redis_durable'])).toEqual([
      'odograph_imaginary_total',
    ]);
  });
});

describe('the alert rules for Prometheus', () => {
  it('are valid PromQL over metrics that the platform has', async () => {
    const expressions = (await alertRules()).map(({ expr }) => expr);
    expect(expressions.length).toBeGreaterThan(10);
    expect(faultsIn(expressions)).toEqual([]);
    expect(unknownIn(expressions)).toEqual([]);
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
