import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run-command.ts';

const ignored = /^(?:node_modules|dist.*|\..*|.*\.test\.tsx?|.*\.fixture\.tsx?|__pycache__)$/;

/** Lists the files below a path of the repository, tests aside, sorted. */
function filesBelow(path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  const names = readdirSync(join(root, path)).filter((name) => !ignored.test(name));
  return names.sort().flatMap((name) => filesBelow(`${path}/${name}`));
}

/** Hashes the content of files and folders of the repository, and the versions of every dependency. */
function hashSources(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of ['package-lock.json', ...paths].flatMap(filesBelow)) {
    hash.update(path).update(readFileSync(join(root, path)));
  }
  return hash.digest('hex');
}

/**
 * Runs a build unless its output was built from the same sources.
 * @param stamp the file that holds the hash of the sources
 * @param build removes the stamp, if it removes the output
 */
export async function buildChanged(stamp: string, sources: readonly string[], build: () => unknown): Promise<void> {
  const hash = hashSources(sources);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  await build();
  writeFileSync(stamp, hash);
}
