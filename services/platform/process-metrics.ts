import { X509Certificate } from 'node:crypto';
import type { StatsFs } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '@odograph/runtime/config';
import { collectDefaultMetrics, Gauge, type Registry } from '@odograph/runtime/metrics';
import { platformVersion } from '@odograph/runtime/platform-version';

/**
 * Registers the metrics that every process has: of Node.js, its version, the disks of its directories, and when its
 * certificates expire. A directory or certificate that cannot be read has no sample.
 */
export function addProcessMetrics(metrics: Registry, config: Config): void {
  collectDefaultMetrics({ register: metrics });
  new Gauge({
    name: 'odograph_build_info',
    help: '1, labelled by the version of the platform and of Node.js',
    labelNames: ['version', 'node'] as const,
    registers: [metrics],
  }).set({ version: platformVersion(), node: process.versions.node }, 1);
  addDiskMetrics(metrics, config);
  addCertificateMetrics(metrics, config);
}

function addDiskMetrics(metrics: Registry, { DATA_DIR }: Config): void {
  // Exports may have a volume of their own.
  const directories = Object.entries({ DATA_DIR, 'DATA_DIR/exports': join(DATA_DIR, 'exports') });
  const addGauge = (name: string, help: string, read: (disk: StatsFs) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['setting'] as const, registers: [metrics] },
      async collect() {
        this.reset();
        for (const [setting, directory] of directories) {
          const disk = await statfs(directory).catch(() => undefined);
          if (disk !== undefined) this.set({ setting }, read(disk));
        }
      },
    });
  addGauge(
    'odograph_disk_free_bytes',
    'Space available to this process on the file system of a directory, by setting',
    ({ bsize, bavail }) => bsize * bavail,
  );
  addGauge(
    'odograph_disk_size_bytes',
    'Size of the file system of a directory, by setting',
    ({ bsize, blocks }) => bsize * blocks,
  );
}

function addCertificateMetrics(metrics: Registry, { MQTT_TLS_CERTIFICATE, MQTT_TLS_CLIENT_CA }: Config): void {
  const files = Object.entries({ MQTT_TLS_CERTIFICATE, MQTT_TLS_CLIENT_CA });
  new Gauge({
    name: 'odograph_certificate_expiry_timestamp_seconds',
    help: 'When the first certificate of a file expires, in UNIX seconds, by the setting that names the file',
    labelNames: ['setting'] as const,
    registers: [metrics],
    async collect() {
      this.reset();
      for (const [setting, path] of files) {
        const expiry = path === undefined ? undefined : await readExpiry(path).catch(() => undefined);
        if (expiry !== undefined) this.set({ setting }, expiry / 1000);
      }
    },
  });
}

/** Returns when the first certificate of a PEM file expires, in UNIX ms. @throws when the file has none or is unreadable */
async function readExpiry(path: string): Promise<number> {
  const blocks = (await readFile(path, 'utf8')).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  const expiries = (blocks ?? []).map((block) => Date.parse(new X509Certificate(block).validTo));
  if (expiries.length === 0) throw new Error(`${path} holds no certificate in PEM`);
  return Math.min(...expiries);
}
