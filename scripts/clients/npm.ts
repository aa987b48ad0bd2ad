import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root, runInstalled } from '../run-command.ts';
import { type ArchivedFile, writeTarball } from './archives.ts';

const directory = join(root, 'packages/client');
/** Bundled, so that an installation downloads nothing else. */
const bundled = ['openapi-fetch', 'openapi-typescript-helpers'];

const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');

/** Imports of declarations name the files of the package, those of bundled libraries too. */
const localize = (text: string): string =>
  text
    .replaceAll(/'(\.\/[\w-]+?)(?:\.d)?\.ts'/g, "'$1.js'")
    .replaceAll(new RegExp(`(from |import\\()(['"])(${bundled.join('|')})\\2`, 'g'), '$1$2./$3.js$2');

async function bundleModule(): Promise<string> {
  const shape = { bundle: true, format: 'esm', target: 'es2022', legalComments: 'none' } as const;
  const { outputFiles } = await build({ entryPoints: [join(directory, 'client.ts')], ...shape, write: false });
  return outputFiles[0]?.text ?? '';
}

/** Writes the declarations of the client and of the libraries that it bundles. @throws when the client has type errors */
function writeDeclarations(): [name: string, text: string][] {
  const output = mkdtempSync(join(tmpdir(), 'odograph-client-'));
  try {
    const declarations = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--outDir', output];
    if (!runInstalled('tsc', '--project', directory, ...declarations)) throw new Error('the client has type errors');
    const own = readdirSync(output).map((name): [string, string] => [name, readFileSync(join(output, name), 'utf8')]);
    const libraries = bundled.map((name): [string, string] => [
      `${name}.d.ts`,
      read('node_modules', name, 'dist/index.d.ts'),
    ]);
    return [...own, ...libraries, ['interface.d.ts', read('packages/client/interface.d.ts')]];
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** The names, versions and licences of the bundled libraries. */
function writeNotices(): string {
  const notices = bundled.map((name) => {
    const { version } = JSON.parse(read('node_modules', name, 'package.json')) as { version: string };
    return `${name} ${version}\n\n${read('node_modules', name, 'LICENSE')}`;
  });
  return `@odograph/client contains these libraries.\n\n${notices.join('\n\n')}`;
}

/** Packs the client as npm installs it: one module and its declarations, without dependencies. */
export async function packNpmClient(): Promise<Buffer> {
  const { name, version, description, license, type, sideEffects, engines } = JSON.parse(
    read('packages/client/package.json'),
  ) as Record<string, unknown>;
  const manifest = {
    ...{ name, version, description, license, type, sideEffects, engines },
    exports: {
      '.': { types: './dist/client.d.ts', default: './dist/client.js' },
      './interface': { types: './dist/interface.d.ts' },
    },
  };
  const texts: [path: string, text: string][] = [
    ['package.json', `${JSON.stringify(manifest, null, 2)}\n`],
    ['README.md', read('packages/client/README.md')],
    ['LICENSE', read('LICENSE')],
    ['NOTICE', read('NOTICE')],
    ['THIRD-PARTY-LICENSES.txt', writeNotices()],
    ['dist/client.js', await bundleModule()],
    ...writeDeclarations().map(([file, text]): [string, string] => [`dist/${file}`, localize(text)]),
  ];
  return writeTarball(
    texts.map(([path, text]): ArchivedFile => ({ path: `package/${path}`, content: Buffer.from(text) })),
  );
}
