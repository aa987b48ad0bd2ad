import { buildInterface } from './build/interface.ts';
import { runChecks } from './checks.ts';

await buildInterface();
const failed = runChecks();
if (failed.length > 0) console.error(`failed: ${failed.join('; ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
