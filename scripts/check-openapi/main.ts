import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { childEnvironment } from '@odograph/runtime/config';
import { installPython, root } from '../run-command.ts';
import { type RunningPlatform, startRunningPlatform } from './platform.ts';

const pythonTools = ['schemathesis==4.32.5', 'openapi-python-client==0.29.1'];
const typescriptGenerator = join(root, 'packages', 'client', 'node_modules', 'openapi-typescript', 'bin', 'cli.js');

const { values: options } = parseArgs({ options: { examples: { type: 'string', default: '10' } } });

interface Tools {
  /** Where the programs of the Python tools are. */
  readonly programs: string;
  /** For files that are removed at the end. */
  readonly directory: string;
  /** The file of the OpenAPI document. */
  readonly document: string;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, object>>;
}

/** Runs a program with inherited output; files that it leaves behind go to `cwd`. @returns whether it succeeded */
async function run(
  program: string,
  parameters: readonly string[],
  { cwd = root, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<boolean> {
  const child = spawn(program, parameters, { cwd, stdio: 'inherit', env: childEnvironment(env) });
  const [code] = await once(child, 'close').catch(() => [null]);
  return code === 0;
}

/** Generates types for TypeScript and compiles them. */
async function checkTypescript({ directory, document }: Tools): Promise<boolean> {
  const types = join(directory, 'interface.ts');
  if (!(await run(process.execPath, [typescriptGenerator, document, '--output', types]))) return false;
  return run(join(root, 'node_modules', '.bin', 'tsc'), ['--noEmit', '--strict', '--ignoreConfig', types]);
}

/** Generates a client for Python, which must have every operation. */
async function checkPython({ programs, directory, document }: Tools, operationCount: number): Promise<boolean> {
  const client = join(directory, 'client');
  const parameters = ['generate', '--path', document, '--output-path', client, '--meta', 'none', '--fail-on-warning'];
  // It formats its output with another of the programs.
  const env = { PATH: `${programs}:${childEnvironment({})['PATH'] ?? ''}` };
  if (!(await run(join(programs, 'openapi-python-client'), parameters, { env }))) return false;
  const files = readdirSync(join(client, 'api'), { recursive: true, encoding: 'utf8' });
  const generated = files.filter((file) => file.endsWith('.py') && !file.endsWith('__init__.py')).length;
  if (generated !== operationCount) console.error(`the client has ${generated} of ${operationCount} operations`);
  return generated === operationCount;
}

/** Replaced by checks of hooks.py, or about relations between operations, which the document does not describe. */
const excludedChecks = [
  ...['not_a_server_error', 'positive_data_acceptance', 'negative_data_rejection'],
  ...['ignored_auth', 'use_after_free', 'ensure_resource_availability', 'object_level_authorization'],
];
/** Wrong in the form of the query, in which the document lacks the operations that have no such form. */
const checksOfMethods = ['unsupported_method', 'allow_header_conformance'];

/** Calls the platform with valid and invalid data, given in the body or in the query (hooks.py). */
function checkAnswers(tools: Tools, platform: RunningPlatform, form: 'body' | 'query'): Promise<boolean> {
  const { url, accessToken, adminToken, vehicleIds, deviceIds } = platform;
  const env = {
    FORM: form,
    IDS: JSON.stringify({ vehicleId: vehicleIds, deviceId: deviceIds }),
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONPATH: import.meta.dirname,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const excluded = form === 'query' ? [...excludedChecks, ...checksOfMethods] : excludedChecks;
  const parameters = [
    ...['run', `${url}/docs/json`, '--header', `x-service-token: ${accessToken}`],
    ...['--header', `authorization: Bearer ${adminToken}`, '--exclude-checks', excluded.join(',')],
    ...['--phases', 'examples,coverage,fuzzing', '--max-examples', options.examples, '--continue-on-failure'],
    ...['--suppress-health-check', 'all', '--warnings', 'off', '--request-timeout', '30'],
    ...['--generation-database', 'none', '--generation-with-security-parameters', 'false'],
  ];
  return run(join(tools.programs, 'schemathesis'), parameters, { cwd: tools.directory, env });
}

async function main(): Promise<boolean> {
  const programs = installPython(...pythonTools);
  const directory = await mkdtemp(join(tmpdir(), 'odograph-check-openapi-'));
  const platform = await startRunningPlatform();
  try {
    const openApi = (await (await fetch(`${platform.url}/docs/json`)).json()) as OpenApi;
    const operationCount = Object.values(openApi.paths).flatMap(Object.keys).length;
    const tools = { programs, directory, document: join(directory, 'openapi.json') };
    writeFileSync(tools.document, JSON.stringify(openApi));
    const results = {
      'openapi-typescript': await checkTypescript(tools),
      'openapi-python-client': await checkPython(tools, operationCount),
      'schemathesis, parameters in the body': await checkAnswers(tools, platform, 'body'),
      'schemathesis, parameters in the query': await checkAnswers(tools, platform, 'query'),
    };
    for (const [name, ok] of Object.entries(results)) console.log(`${ok ? 'passed' : 'failed'}: ${name}`);
    return Object.values(results).every((ok) => ok);
  } finally {
    await platform.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

try {
  process.exit((await main()) ? 0 : 1);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
