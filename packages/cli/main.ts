import { runCommandLine } from './command-line.ts';
import { exitCodeOf } from './server/admin-api.ts';

// A reader such as head may end first.
process.stdout.on('error', (error: Error) => {
  process.exit('code' in error && error.code === 'EPIPE' ? 0 : 1);
});
runCommandLine(process.argv.slice(2)).then(
  (output) => process.stdout.write(output),
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`odograph: ${message.replace(/\s*\n\s*/g, ' ')}\n`);
    process.exitCode = exitCodeOf(error);
  },
);
