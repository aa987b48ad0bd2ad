import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root, runInstalled } from './run-command.ts';

const directory = join(root, 'packages/client');
const output = join(directory, 'dist');

/** Builds packages/client into its dist/: one module, and the declarations of its types. */
async function buildClient(): Promise<void> {
  rmSync(output, { recursive: true, force: true });
  const entry = join(directory, 'client.ts');
  const module = { bundle: true, packages: 'external', format: 'esm', target: 'es2022' } as const;
  await build({ entryPoints: [entry], outdir: output, ...module, logLevel: 'warning' });
  copyFileSync(join(root, 'LICENSE'), join(output, 'LICENSE'));
  const declarations = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--outDir', output];
  if (!runInstalled('tsc', '--project', directory, ...declarations)) throw new Error('the client has type errors');
  for (const name of readdirSync(output).filter((one) => one.endsWith('.d.ts'))) {
    const path = join(output, name);
    // The generated types are in the package once, above dist/.
    const text = readFileSync(path, 'utf8').replaceAll("'./interface.d.ts'", "'../interface.d.ts'");
    writeFileSync(path, text.replaceAll(/'(\.\/[\w-]+)\.ts'/g, "'$1.js'"));
  }
}

await buildClient();
