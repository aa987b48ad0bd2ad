import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsTable } from '@odograph/runtime/settings';
import { root } from './run-command.ts';

const page = join(root, 'docs/settings.md');
const text = readFileSync(page, 'utf8');
writeFileSync(
  page,
  text.replace(/^\|[\s\S]*\|$/m, () => settingsTable()),
);
