import { messageOf } from '@odograph/runtime/message-of';
import { runCommandLine } from './command-line.ts';
import { exitCodeOf } from './server/admin-api.ts';

// A reader such as head may end first.
process.stdout.on('error', (error: Error) => {
  process.exit('code' in error && error.code === 'EPIPE' ? 0 : 1);
});
runCommandLine(process.argv.slice(2)).then(
  (output) => process.stdout.write(output),
  (error: unknown) => {
    process.stderr.write(`odograph: ${messageOf(error).replace(/\s*\n\s*/g, ' ')}\n`);
    process.exitCode = exitCodeOf(error);
  },
);
