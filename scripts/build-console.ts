import buildConsole from '../apps/console/build.ts';

await buildConsole();
