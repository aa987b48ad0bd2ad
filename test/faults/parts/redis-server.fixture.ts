import { spawnSync } from 'node:child_process';

/** These tests kill a Redis of their own; without one on the PATH they cannot. */
export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;
