import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttp } from '@odograph/http/create-http';
import { addOperationRoutes } from '@odograph/http/operations';
import { readConfig, resolveConfig } from '@odograph/runtime/config';
import { limits } from '@odograph/runtime/limits';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { startServices } from '@odograph/runtime/service';
import { loadServices, selectServices } from '../../services/platform/services.ts';
import { root } from '../run-command.ts';
import { writeLimits } from './limits.ts';
import { type OpenApiDocument, reduceDocument, writeKeyedPaths } from './types.ts';

/** These have no routes in the document, and wait for Redis. */
const withoutRoutes = ['ingest', 'broker', 'gateway'];

/** Reads the OpenAPI document of the services. They start without engines: routes are added before the first query. */
async function readDocument(): Promise<OpenApiDocument> {
  const settings = { LOG_LEVEL: 'silent', DATA_DIR: tmpdir(), ENCRYPTION_KEYS: 'for-the-document-only-0123456789' };
  const unavailable = { databaseUrl: 'postgres://127.0.0.1:1/none', redisUrl: 'redis://127.0.0.1:1' };
  const config = resolveConfig(readConfig(settings), unavailable);
  const logger = createLogger(config.LOG_LEVEL);
  const metrics = new Registry();
  const adminToken = '';
  const http = await createHttp(config, logger);
  addOperationRoutes(http, { services: () => new Map(), metrics, adminToken, config });
  const services = await loadServices(selectServices([]).filter((name) => !withoutRoutes.includes(name)));
  await startServices(services, { config, limits, logger, metrics, http, adminToken, onStop: () => undefined });
  await http.ready();
  return (await http.inject('/docs/json')).json<OpenApiDocument>();
}

/** Writes what is generated from the document. @param output the file of the document */
function writeGenerated(document: OpenApiDocument, output: string): void {
  const client = join(root, 'packages/client');
  const types = join(client, 'interface.d.ts');
  const reduced = `${output}.reduced.json`;
  writeFileSync(reduced, JSON.stringify(reduceDocument(document)));
  // Its program, since its module needs the version of TypeScript that only the client has.
  const program = join(client, 'node_modules/.bin/openapi-typescript');
  execFileSync(program, [reduced, '--alphabetize', '--output', types], { stdio: 'ignore' });
  writeFileSync(join(client, 'keyed-paths.ts'), writeKeyedPaths(document));
  writeFileSync(join(root, 'apps/console/src/api/limits.ts'), writeLimits(document));
  writeFileSync(output, JSON.stringify(document));
}

const [output = ''] = process.argv.slice(2);
const document = await readDocument();
writeGenerated(document, output);
// The clients of Redis would try to connect for ever.
process.exit(0);
