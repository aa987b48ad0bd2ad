import { startEmbeddedTimescale } from '../postgres/timescaledb.ts';
import { startEmbeddedRedis } from '../redis/redis.ts';

// Starts the engine named by the first argument in the data directory named by the second, and prints its URL.
const [engine, dataDirectory = ''] = process.argv.slice(2);
const start = engine === 'redis' ? startEmbeddedRedis : startEmbeddedTimescale;
const { url } = await start({ dataDirectory });
console.log(url);
