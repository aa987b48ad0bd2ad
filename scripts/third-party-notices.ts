import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
  readonly license?: string;
  readonly version?: string;
}

/** Reads the licence and notice files of an installed package; undefined when it is not installed, as optional ones. */
function licenceTexts(path: string): string[] | undefined {
  let files: string[];
  try {
    files = readdirSync(join(root, path));
  } catch {
    return undefined;
  }
  return files
    .filter((file) => /^(licen[cs]e|copying|notice)(\.|-|$)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(root, path, file), 'utf8').trim());
}

/** Collects name, version and licence of every installed production dependency; this repository's packages are not in it. */
export function thirdPartyNotices(): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const notices = Object.entries(lock.packages).flatMap(([path, { dev, devOptional, link, license, version }]) => {
    const texts = path.includes('node_modules/') && !dev && !devOptional && !link ? licenceTexts(path) : undefined;
    if (texts === undefined) return [];
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [[`${name} ${version}`, `Licence: ${license ?? 'see below'}`, ...texts].join('\n\n')];
  });
  return `${[...new Set(notices)].sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

// The image is built without the release script: `node scripts/third-party-notices.ts`.
if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(thirdPartyNotices());
