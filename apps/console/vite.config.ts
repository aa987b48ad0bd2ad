import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // The readers of history files also run on Node.js; this build of their parser needs no Node.js modules.
  resolve: { alias: { 'csv-parse/sync': 'csv-parse/browser/esm/sync' } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    license: { fileName: 'licenses.md' },
    // A data: URL would need its own exception in the content security policy.
    assetsInlineLimit: 0,
    // The map library is one module of 1.1 MB; 290 kB compressed.
    chunkSizeWarningLimit: 1200,
  },
});
