import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commands } from '@odograph/cli/command-line';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const maxLineLength = 125;

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name) && !/node_modules|\bdist\b/.test(entry.parentPath))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...filesBelow('docs', /\.md$/),
  ...filesBelow('infra', /\.md$/),
];
const scripts: object = JSON.parse(read('package.json')).scripts;

/** The text of a page without its code blocks. */
const proseOf = (page: string) => read(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

/** The anchors that GitHub makes of the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  const anchors = headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(anchors);
}

describe('every page of the documentation', () => {
  it('links to files and headings that exist', () => {
    const broken = pages.flatMap((page) =>
      [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^(?:https?|mailto):/.test(target))
        .filter((target) => {
          const [path = '', anchor] = target.split('#');
          const file = path === '' ? join(root, page) : resolve(root, dirname(page), path);
          if (!existsSync(file)) return true;
          return anchor !== undefined && file.endsWith('.md') && !anchorsOf(relative(root, file)).has(anchor);
        })
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('shows npm scripts and commands of the command line that exist', () => {
    const named = new Set(commands.flatMap(({ name }) => [name, name.split(' ', 1)[0]]));
    const unknown = pages.flatMap((page) => {
      const text = read(page);
      return [
        ...[...text.matchAll(/\bnpm run ([a-z:-]+)/g)].filter(([, name = '']) => !Object.hasOwn(scripts, name)),
        ...[...text.matchAll(/\bnpx odograph ([a-z][a-z-]*)/g)].filter(([, name = '']) => !named.has(name)),
      ].map(([shown]) => `${page}: ${shown}`);
    });
    expect(unknown.filter((shown) => !shown.endsWith('completion'))).toEqual([]);
  });

  it('names settings, error codes and constants that exist', () => {
    const sources = ['services', 'packages', 'infra', 'scripts', 'clients']
      .flatMap((folder) => filesBelow(folder, /\.(?:ts|mjs|py|sql|ya?ml|conf|cfg|sh|json)$|^Dockerfile$/))
      .filter((path) => !/\.test\.ts$/.test(path));
    const known = new Set([...sources, 'docker-compose.yml'].flatMap((path) => read(path).match(/[A-Z0-9_]+/g) ?? []));
    const unknown = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) =>
        [...proseOf(page).matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`/g)]
          .map(([, name = '']) => name)
          .filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')) && !name.startsWith('OTEL_'))
          .map((name) => `${page}: ${name}`),
      );
    expect(unknown).toEqual([]);
  });

  it(`has no line over ${maxLineLength} characters outside tables and code`, () => {
    const long = pages.flatMap((page) =>
      proseOf(page)
        .split('\n')
        .filter((line) => line.length > maxLineLength && !/^\s*\||^\[!\[/.test(line) && / /.test(line.trim()))
        .map((line) => `${page}: ${line.slice(0, 60)}…`),
    );
    expect(long).toEqual([]);
  });
});
