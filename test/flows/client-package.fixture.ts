import { type ExecFileOptions, execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '@odograph/runtime/config';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a program. @returns its output. @throws with its output when it fails */
async function run(program: string, parameters: readonly string[], options: ExecFileOptions): Promise<string> {
  return promisify(execFile)(program, parameters, { ...options, encoding: 'utf8' }).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout: string }) => {
      throw new Error(`${error.message}${error.stdout}`, { cause: error });
    },
  );
}

/** A project that has installed the client from a platform. */
export interface UnpackedClient {
  readonly directory: string;
  remove(): Promise<void>;
}

/** Installs the client of a platform into a new project, without a registry, and the types of Node.js beside it. */
export async function installClient(httpUrl: string): Promise<UnpackedClient> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-client-'));
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  const options = ['--no-audit', '--no-fund', '--registry', 'http://127.0.0.1:1', '--cache', join(directory, 'cache')];
  await run('npm', ['install', `${httpUrl}/client.tgz`, ...options], { cwd: directory });
  for (const name of ['@types/node', 'undici-types']) {
    await cp(join(root, 'node_modules', name), join(directory, 'node_modules', name), { recursive: true });
  }
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** Bundles the client with what it imports for a page, minified, as the global variable `odograph`. */
export async function bundleForBrowsers({ directory }: UnpackedClient): Promise<string> {
  const stdin = { contents: "export * from '@odograph/client';", resolveDir: directory };
  const shape = { bundle: true, minify: true, format: 'iife', globalName: 'odograph' } as const;
  const { outputFiles } = await build({ stdin, ...shape, platform: 'browser', write: false });
  return outputFiles[0]?.text ?? '';
}

/** Writes a program for a page of the platform, which lists the ids of the vehicles in the table and in the live stream. */
export async function listingProgram(unpacked: UnpackedClient): Promise<string> {
  return `(async () => {
    ${await bundleForBrowsers(unpacked)}
    const client = odograph.createClient({ url: location.origin });
    const seen = [];
    for await (const { id } of client.items('/v1/x/vehicles')) seen.push(id);
    for await (const { event, data } of client.events()) {
      if (event === 'snapshot') return [...seen, ...data.vehicles.map(({ id }) => id)];
    }
  })()`;
}

/** Runs the examples of a document as one program, and checks their types. @throws with the output of a program that fails */
export async function runDocument(
  { directory }: UnpackedClient,
  document: string,
  settings: Record<string, string>,
): Promise<string> {
  const text = await readFile(join(root, document), 'utf8');
  const examples = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code);
  const program = join(directory, 'examples.mjs');
  await writeFile(program, examples.join('\n'));
  const checks = ['--checkJs', '--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
  await run(join(root, 'node_modules/.bin/tsc'), ['--ignoreConfig', ...checks, program], { cwd: directory });
  return run(process.execPath, [program], { cwd: directory, env: childEnvironment(settings) });
}
