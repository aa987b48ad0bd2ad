#!/usr/bin/env node
// Plain JavaScript, because node_modules/.bin must run on every Node.js from 20.19.
import { existsSync } from 'node:fs';

const runner = new URL('../../scripts/run.mjs', import.meta.url);
if (existsSync(runner)) {
  process.argv.splice(2, 0, 'packages/cli/main.ts');
  await import(runner.href);
} else {
  // The image holds no scripts; its Node.js runs TypeScript.
  await import('./main.ts');
}
