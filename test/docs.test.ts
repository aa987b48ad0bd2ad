import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commands } from '@odograph/cli/command-line';
import { describe, expect, it } from 'vitest';
import root from '../package.json' with { type: 'json' };

const folder = fileURLToPath(new URL('../', import.meta.url));
const files = [
  ...['README.md', 'CHANGELOG.md', 'SECURITY.md'],
  ...readdirSync(join(folder, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];
const readText = (file: string) => readFileSync(join(folder, file), 'utf8');

/** Returns the anchors of a file's headings, as GitHub forms them. */
function anchorsOf(file: string): string[] {
  const headings = [
    ...readText(file)
      .replaceAll(/^```.*?^```/gms, '')
      .matchAll(/^#+ (.*)$/gm),
  ];
  return headings.map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Returns whether a link leads to a file of the repository and, with an anchor, to one of its headings. */
function leadsSomewhere(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : join(dirname(from), path);
  if (!existsSync(join(folder, target))) return false;
  return anchor === undefined || !target.endsWith('.md') || anchorsOf(target).includes(anchor);
}

describe.each(files)('%s', (file) => {
  const text = readText(file);

  it('links to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    const own = links.filter((link) => !/^(https?|mailto):/.test(link));
    expect(own.filter((link) => !leadsSomewhere(file, link))).toEqual([]);
  });

  it('shows npm scripts and commands of the command line that exist', () => {
    const scripts = [...text.matchAll(/\bnpm run (?:-s |--silent )?([a-z][a-z:-]*)/g)].map(([, name = '']) => name);
    expect(scripts.filter((name) => !(name in root.scripts))).toEqual([]);
    const names = new Set(commands.flatMap(({ name }) => [name, name.split(' ', 1)[0]]));
    const shown = [...text.matchAll(/\bnpx odograph ([a-z][a-z-]*)/g)].map(([, name = '']) => name);
    expect(shown.filter((name) => !names.has(name) && name !== 'completion')).toEqual([]);
  });
});
