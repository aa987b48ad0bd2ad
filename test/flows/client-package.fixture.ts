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

/** A project that has installed the client as it would be published. */
export interface UnpackedClient {
  readonly directory: string;
  remove(): Promise<void>;
}

/** Packs the client, and unpacks it with what it imports into a new project. */
export async function unpackClient(): Promise<UnpackedClient> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-client-'));
  const modules = join(directory, 'node_modules');
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers']) {
    await cp(join(root, 'node_modules', name), join(modules, name), { recursive: true });
  }
  await cp(join(root, 'node_modules/@types/node'), join(modules, '@types/node'), { recursive: true });
  await cp(join(root, 'node_modules/undici-types'), join(modules, 'undici-types'), { recursive: true });
  await run('npm', ['pack', '--workspace', 'packages/client', '--pack-destination', directory], { cwd: root });
  const { version } = JSON.parse(await readFile(join(root, 'packages/client/package.json'), 'utf8')) as {
    version: string;
  };
  await run('tar', ['--extract', '--gzip', '--file', `odograph-client-${version}.tgz`], { cwd: directory });
  await cp(join(directory, 'package'), join(modules, '@odograph/client'), { recursive: true });
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
