#!/usr/bin/env node
// Plain JavaScript, because node_modules/.bin must run on every Node.js from 20.19.
if (process.features.typescript) {
  await import('./main.ts');
} else {
  process.argv.splice(2, 0, 'packages/cli/main.ts');
  await import('../../scripts/run.mjs');
}
