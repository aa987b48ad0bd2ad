import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventService } from '@odograph/events/service';
import { childEnvironment } from '@odograph/runtime/config';
import { serviceDatabaseNames } from '@odograph/runtime/settings';
import { useDirectory, usePlatform } from '@odograph/testkit/scopes';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface ComposeService {
  image?: string;
  build?: object;
  entrypoint?: string[];
  command?: string[];
  restart?: string;
  environment?: Record<string, string>;
  ports?: string[];
  scale?: string | number;
  volumes?: string[];
  tmpfs?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  logging?: { options: Record<string, string> };
  healthcheck?: { test?: string[]; disable?: boolean };
  mem_limit?: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readServices = (path: string): Record<string, ComposeService> => parse(read(path), { merge: true }).services;

const compose = read('docker-compose.yml');
const services = readServices('docker-compose.yml');
const all = Object.entries(services);
const namesWhere = (applies: (service: ComposeService) => boolean): string[] =>
  all.flatMap(([name, service]) => (applies(service) ? [name] : []));
const isOneShot = (service: ComposeService): boolean => service.restart === 'no';
const isOurs = (service: ComposeService): boolean => service.image?.startsWith('odograph:') ?? false;
/** The default address and the port of each published port. */
const publishedBy = (list: ComposeService[]): string[] =>
  list
    .flatMap(({ ports }) => ports ?? [])
    .map((entry) => entry.replace(/^\$\{\w+:-([\d.]+)\}:(\d+):\d+(\/\w+)?$/, '$1 $2$3'));
const textOf = (service: ComposeService): string => JSON.stringify(service.environment ?? {});

const directory = useDirectory();

describe('docker-compose.yml', () => {
  it('restarts every service and checks its health, except those that run once', () => {
    expect(namesWhere((service) => isOneShot(service))).toEqual(['migrate', 'roles', 'tools']);
    expect(namesWhere((service) => !isOneShot(service) && service.restart !== 'unless-stopped')).toEqual([]);
    expect(namesWhere((service) => !isOneShot(service) && service.healthcheck?.test === undefined)).toEqual([]);
  });

  it('asks PostgreSQL over TCP, where the server that initializes the data directory does not listen', () => {
    expect(services['timescaledb']?.healthcheck?.test?.join(' ')).toContain('pg_isready -h 127.0.0.1');
  });

  it('publishes unencrypted ports on the loopback interface only, and encrypted ones on all interfaces', () => {
    const inClear = ['1883', '5027/tcp', '5027/udp', '8080'].map((port) => `127.0.0.1 ${port}`);
    // Port 80 redirects to 443 and answers the challenges of the certificate authority.
    const encrypted = ['8883', '5028', '80', '443'].map((port) => `0.0.0.0 ${port}`);
    expect(publishedBy(Object.values(services)).toSorted()).toEqual([...inClear, ...encrypted].toSorted());
  });

  it('listens on all addresses of a container, so that its published ports are reachable', () => {
    expect(read('infra/Dockerfile')).toContain('HTTP_HOST=0.0.0.0 MQTT_HOST=0.0.0.0');
    expect(services['gateway']?.environment).toMatchObject({ TELTONIKA_HOST: '0.0.0.0' });
  });

  it('listens for TLS only with a certificate: one for DOMAIN, or the one of infra/docker-compose.tls.yml', () => {
    const path = `/certificates/caddy/certificates/acme-v02.api.letsencrypt.org-directory/\${DOMAIN}/\${DOMAIN}`;
    expect(services['https']).toMatchObject({
      scale: `0\${DOMAIN:+1}`,
      environment: { XDG_DATA_HOME: '/certificates' },
    });
    expect(read('infra/Caddyfile')).toContain('acme_ca {$ACME_CA:https://acme-v02.api.letsencrypt.org/directory}');
    const tls = readServices('infra/docker-compose.tls.yml');
    for (const name of ['broker', 'gateway', 'http']) {
      expect(services[name]?.environment).toMatchObject({
        MQTT_TLS_CERTIFICATE: `\${DOMAIN:+${path}.crt}`,
        MQTT_TLS_KEY: `\${DOMAIN:+${path}.key}`,
      });
      expect(Object.keys(tls[name]?.environment ?? {})).toEqual(
        expect.arrayContaining(['MQTT_TLS_CERTIFICATE', 'MQTT_TLS_KEY']),
      );
    }
    // `http` serves the console, which shows the device addresses.
    for (const name of ['gateway', 'http']) {
      expect(services[name]?.environment).toMatchObject({ TELTONIKA_TLS_PORT: `\${DOMAIN:+5028}` });
      expect(tls[name]?.environment).toMatchObject({ TELTONIKA_TLS_PORT: '5028' });
      expect(read(`infra/helm/templates/${name}.yaml`)).toContain('{ name: TELTONIKA_TLS_PORT, value: "5028" }');
    }
  });

  it('says in the log that broker and gateway wait for the first certificate', async () => {
    const [shell = '', option = '', script = ''] = services['broker']?.entrypoint ?? [];
    const env = childEnvironment({ MQTT_TLS_CERTIFICATE: '/none.crt', MQTT_TLS_KEY: '/none.key' });
    const waiting = spawn(shell, [option, `sleep() { :; }; ${script.replaceAll('$$', '$')}`], { env });
    const [line] = await once(waiting.stderr, 'data');
    waiting.kill();
    expect(String(line)).toMatch(/^no certificate yet after 60 s/);
  });

  it('gives the password of the owner to the database and to what runs once only', () => {
    const names = namesWhere((service) => textOf(service).includes('POSTGRES_PASSWORD'));
    expect(names).toEqual(['timescaledb', 'migrate', 'roles', 'tools']);
  });

  it('gives each service the database of its own role, and only the secrets that it uses', () => {
    const secrets = (name: string) =>
      [...new Set(textOf(services[name] ?? {}).match(/(?<=\$\{)(?!DOMAIN)[A-Z_]+/g))].toSorted();
    const common = ['METRICS_TOKEN', 'REDIS_PASSWORD'];
    expect(secrets('broker')).toEqual(['ADMIN_TOKEN', 'BROKER_DATABASE_PASSWORD', ...common]);
    expect(secrets('gateway')).toEqual(['ADMIN_TOKEN', 'ENCRYPTION_KEYS', 'GATEWAY_DATABASE_PASSWORD', ...common]);
    expect(secrets('ingest')).toEqual(['ENCRYPTION_KEYS', 'INGEST_DATABASE_PASSWORD', ...common]);
    expect(secrets('events')).toEqual(['ADMIN_TOKEN', 'ENCRYPTION_KEYS', 'EVENTS_DATABASE_PASSWORD', ...common]);
    expect(secrets('proxy')).toEqual([]);
    const connections = all.flatMap(([name, { environment = {} }]) =>
      Object.entries(environment).flatMap(([variable, value]) => {
        const role = /postgres:\/\/odograph_(\w+):\$\{(\w+)_DATABASE_PASSWORD\}/.exec(value);
        return role === null ? [] : [`${name} ${variable} ${role[1]} ${role[2]}`];
      }),
    );
    const ofHttp = ['fleet', 'access', 'registration', 'command', 'console'].map(
      (role) => `http ${role.toUpperCase()}_DATABASE_URL ${role} ${role.toUpperCase()}`,
    );
    expect(connections).toEqual([
      'broker DATABASE_URL broker BROKER',
      'gateway DATABASE_URL gateway GATEWAY',
      'ingest DATABASE_URL ingest INGEST',
      'http DATABASE_URL query QUERY',
      ...ofHttp,
      'events DATABASE_URL events EVENTS',
    ]);
  });

  it('is upgraded by the loop of docs/operating.md, which replaces every service of the platform, the broker last', () => {
    const loop = /^for service in ([a-z ]+); do docker compose/m.exec(read('docs/operating.md'))?.[1]?.split(' ') ?? [];
    expect(loop.toSorted()).toEqual(namesWhere((service) => isOurs(service) && !isOneShot(service)).toSorted());
    expect(loop.at(-1)).toBe('broker');
  });

  it('builds one image, which every service shares', () => {
    expect(namesWhere((service) => service.build !== undefined)).toEqual(['migrate']);
    expect(new Set(all.flatMap(([, { image }]) => image)).size).toBe(5);
    expect(namesWhere((service) => !/:.*\d/.test(service.image ?? ''))).toEqual([]);
  });

  it('bounds logs and memory, and runs the platform on a read-only file system without capabilities', () => {
    expect(namesWhere(({ logging }) => logging?.options['max-size'] === undefined)).toEqual([]);
    const confined = namesWhere((service) => isOurs(service));
    expect(confined).toEqual(['migrate', 'broker', 'gateway', 'ingest', 'http', 'events', 'tools']);
    for (const name of [...confined, 'proxy', 'https']) {
      const mem_limit = expect.stringMatching(/^\dg$/);
      expect(services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'], mem_limit });
    }
  });

  it('leaves no anonymous volume: what an image declares is a named volume or in memory', () => {
    const declared = { 'timescale/timescaledb': '/var/lib/postgresql/data', redis: '/data' };
    const leaking = Object.entries(declared).flatMap(([image, path]) =>
      namesWhere(
        (service) =>
          (service.image?.startsWith(`${image}:`) ?? false) &&
          ![...(service.volumes ?? []), ...(service.tmpfs ?? [])].some((mount) => mount.endsWith(path)),
      ),
    );
    expect(leaking).toEqual([]);
    expect(read('infra/Dockerfile')).not.toContain('VOLUME');
  });
});

describe('infra/helm', () => {
  const values = parse(read('infra/helm/values.yaml'));

  it('has a password for the role of every service, and gives each workload the services of docker-compose.yml', () => {
    const job = read('infra/helm/templates/migrate.yaml');
    for (const service of Object.keys(serviceDatabaseNames)) expect(job).toContain(`"${service.toUpperCase()}"`);
    for (const name of namesWhere((service) => isOurs(service) && !isOneShot(service))) {
      const template = read(`infra/helm/templates/${name}.yaml`);
      const list = services[name]?.command?.map((service) => `"${service}"`).join(' ');
      expect(template).toContain(`"services" (list ${list})`);
      const used = [...template.matchAll(/"([A-Z_]+_PASSWORD|ADMIN_TOKEN|ENCRYPTION_KEYS)"\)/g)].map(([, key]) => key);
      for (const secret of used.filter((key) => key !== '%s_DATABASE_PASSWORD')) {
        expect(textOf(services[name] ?? {})).toContain(`\${${secret}`);
      }
    }
  });

  it.skipIf(spawnSync('helm', ['version']).status !== 0)('writes numbers of a million and more in full', () => {
    const settings = join(directory, 'values.yaml');
    writeFileSync(settings, 'settings: { RETENTION_DAYS: 1000000, LOG_LEVEL: info, TELTONIKA_UDP: false }');
    const parameters = ['template', join(root, 'infra/helm'), '-f', settings, '--kube-version', '1.31'];
    const { stdout } = spawnSync('helm', parameters, { encoding: 'utf8' });
    for (const [name, value] of Object.entries({ RETENTION_DAYS: 1_000_000, LOG_LEVEL: 'info', TELTONIKA_UDP: false }))
      expect(stdout).toContain(`{ name: ${name}, value: "${value}" }`);
  });

  it('uses the versions of docker-compose.yml', () => {
    expect(values.database.image).toBe(services['timescaledb']?.image);
    const chart = parse(read('infra/helm/Chart.yaml'));
    expect(services['http']?.image).toBe(`odograph:\${ODOGRAPH_VERSION:-${chart.appVersion}}`);
  });
});

describe('requests', async () => {
  const routes = new Set<string>();
  await usePlatform([
    {
      ...eventService,
      start(host) {
        host.http.addHook('onRoute', ({ url }) => void routes.add(url));
        return eventService.start(host);
      },
    },
  ]);

  it.each([
    ['infra/haproxy.cfg', /use_backend events if \{ path_beg (.*) \}/g],
    ['infra/haproxy.tls.cfg', /use_backend events if \{ path_beg (.*) \}/g],
    ['infra/helm/templates/ingress.yaml', /path: (\S+), .*-events-http/g],
  ])('for routes of the service events are sent to it by %s', (path, pattern) => {
    const prefixes = [...read(path).matchAll(pattern)].flatMap(([, list]) => list?.split(' ') ?? []);
    expect(routes.size).toBeGreaterThan(0);
    expect([...routes].filter((route) => !prefixes.some((prefix) => route.startsWith(prefix)))).toEqual([]);
  });

  it('of the command line in a container go through the proxy, since no container serves every route', () => {
    for (const name of ['http', 'events', 'tools']) {
      expect(services[name]?.environment).toMatchObject({ ODOGRAPH_URL: 'http://proxy:8080' });
    }
  });
});

describe('infra/docker-compose.grafana.yml', () => {
  const { grafana = {} } = readServices('infra/docker-compose.grafana.yml');

  it('publishes Grafana on the loopback interface only, with a password of its own', () => {
    expect(publishedBy([grafana])).toEqual(['127.0.0.1 3000']);
    expect(textOf(grafana)).toContain('${GRAFANA_PASSWORD:?');
    expect(textOf(grafana)).not.toContain('POSTGRES_PASSWORD');
  });

  it('mounts the dashboards where the provisioning looks for them, and sets what the data source reads', () => {
    const { providers } = parse(read('infra/grafana/provisioning/dashboards/odograph.yml'));
    expect(grafana.volumes).toContain(`./infra/grafana/dashboards:${providers[0].options.path}:ro`);
    const source = read('infra/grafana/provisioning/datasources/fleet.yml');
    const names = [...source.matchAll(/\$(REPORTS_\w+)/g)].map(([, name]) => name);
    expect(Object.keys(grafana.environment ?? {})).toEqual(expect.arrayContaining(names));
  });
});

describe('infra/docker-compose.prometheus.yml', () => {
  const overlay = parse(read('infra/docker-compose.prometheus.yml'));
  const [{ authorization, dns_sd_configs: discoveries }] = parse(
    read('infra/prometheus/prometheus.yml'),
  ).scrape_configs;

  it('gives Prometheus the token of the metrics in the file that its configuration names', () => {
    const [secret] = overlay.services.prometheus.secrets;
    expect(authorization.credentials_file).toBe(`/run/secrets/${secret}`);
    expect(overlay.secrets[secret].environment).toBe('METRICS_TOKEN');
    expect(publishedBy([overlay.services.prometheus])).toEqual(['127.0.0.1 9090']);
  });

  it('scrapes every replica of every service of the platform, and an alert names the service that has none', () => {
    const names = namesWhere((service) => isOurs(service) && !isOneShot(service));
    expect(discoveries.map(({ type, port }: { type: string; port: number }) => [type, port])).toEqual([['A', 8080]]);
    expect(discoveries[0].names.toSorted()).toEqual(names.toSorted());
    const alerts = read('infra/prometheus/alerts.yml');
    for (const name of names) expect(alerts).toContain(`absent(up{job="odograph", service="${name}"})`);
  });
});

describe('infra/write-env.sh', () => {
  const script = join(directory, 'infra/write-env.sh');
  mkdirSync(join(directory, 'infra'));
  cpSync(join(root, 'infra/write-env.sh'), script);
  const first = spawnSync('sh', [script], { encoding: 'utf8' });
  const written = () => readFileSync(join(directory, '.env'), 'utf8');
  const names = [...written().matchAll(/^([A-Z_]+)=[0-9a-f]{64}$/gm)].map(([, name]) => name);

  it('writes every secret that docker-compose.yml requires, readable by its owner only', () => {
    expect(first.status).toBe(0);
    const files = compose + read('infra/docker-compose.prometheus.yml');
    const required = files.match(/(?<=\$\{)[A-Z_]+(?=:\?)|(?<=^ +environment: )[A-Z_]+$/gm);
    expect(new Set(required)).toEqual(new Set(names));
    expect(statSync(join(directory, '.env')).mode & 0o777).toBe(0o600);
  });

  it('never replaces secrets', () => {
    const before = written();
    expect(spawnSync('sh', [script]).status).toBe(1);
    expect(written()).toBe(before);
  });

  it('writes to a file that neither git nor the build of the image includes', () => {
    for (const ignore of ['.gitignore', '.dockerignore']) expect(read(ignore).split('\n')).toContain('.env*');
  });

  it('has a password for the role of every service, which infra/database-logins.sql sets', () => {
    const logins = read('infra/database-logins.sql');
    for (const service of Object.keys(serviceDatabaseNames)) {
      expect(names).toContain(`${service.toUpperCase()}_DATABASE_PASSWORD`);
      expect(logins).toContain(`alter role odograph_${service} password`);
    }
  });
});
