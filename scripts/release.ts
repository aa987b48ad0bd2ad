import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import build from './build/build.ts';
import { root } from './run-command.ts';
import { thirdPartyNotices } from './third-party-notices.ts';

const output = join(root, 'dist/release');

/** Runs a program in the repository. @returns its standard output @throws Error when it fails */
function run(program: string, ...parameters: string[]): string {
  const { status, stdout, error } = spawnSync(program, parameters, {
    ...{ cwd: root, encoding: 'utf8' as const, stdio: ['ignore', 'pipe', 'inherit'] as const },
    ...{ maxBuffer: 256 * 1024 * 1024, shell: process.platform === 'win32' },
  });
  if (status !== 0) throw new Error(`${program} ${parameters.join(' ')} failed`, { cause: error });
  return stdout;
}

/** Requires committed sources and one version in every manifest and the changelog. @returns the version */
function checkTree(allowsChanges: boolean): string {
  const changes = run('git', 'status', '--porcelain').trim();
  if (changes !== '' && !allowsChanges) throw new Error(`uncommitted changes:\n${changes}`);
  const manifests = run('git', 'ls-files', 'package.json', '*/*/package.json').trim().split('\n');
  const versions = manifests.map((file) => JSON.parse(readFileSync(join(root, file), 'utf8')) as { version: string });
  const [version = '', ...others] = new Set(versions.map((manifest) => manifest.version));
  if (others.length > 0) throw new Error(`the manifests have different versions: ${[version, ...others].join(', ')}`);
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  if (!changelog.split('\n').some((line) => line.startsWith('## ') && line.includes(version))) {
    throw new Error(`CHANGELOG.md has no section ${version}`);
  }
  return version;
}

/** Builds the image, where there is Docker. */
function buildImage(version: string): void {
  if (spawnSync('docker', ['version'], { stdio: 'ignore' }).status !== 0) {
    console.log(`image odograph:${version} skipped: no Docker on this machine`);
    return;
  }
  run('docker', 'build', '--file', 'infra/Dockerfile', '--tag', `odograph:${version}`, '.');
  console.log(`image odograph:${version} built`);
}

/**
 * Makes a release in dist/release: the client packages, a CycloneDX SBOM and the notices of third parties; and the image.
 * `--allow-changes` is for trying it out on an uncommitted tree.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { 'allow-changes': { type: 'boolean', default: false } } });
  const version = checkTree(values['allow-changes']);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  await build();
  const packages = join(root, 'clients/dist');
  for (const file of readdirSync(packages).filter((name) => /\.(tgz|whl)$/.test(name))) {
    copyFileSync(join(packages, file), join(output, file));
  }
  writeFileSync(join(output, 'sbom.cdx.json'), run('npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'));
  writeFileSync(join(output, 'THIRD-PARTY-NOTICES'), thirdPartyNotices());
  for (const file of ['LICENSE', 'NOTICE']) copyFileSync(join(root, file), join(output, file));
  buildImage(version);
  console.log(`release ${version}: ${readdirSync(output).join(', ')} in dist/release`);
}

await main();
