import { runCommandLine } from './command-line.ts';

runCommandLine(process.argv.slice(2)).then(
  (output) => process.stdout.write(output),
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`odograph: ${message.replace(/\s*\n\s*/g, ' ')}\n`);
    process.exitCode = 1;
  },
);
