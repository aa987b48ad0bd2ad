import { createHash } from 'node:crypto';
import { copyFile, mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '@odograph/runtime/config';
import { AwsClient } from 'aws4fetch';

/** A store for archive files. */
export interface ArchiveStore {
  /** Returns the name of a file for display. */
  describe(name: string): string;
  /** Stores a file durably and replaces a file of the same name. */
  put(name: string, path: string): Promise<void>;
  /** Copies a stored file to a path. */
  get(name: string, path: string): Promise<void>;
}

/** Keeps files in a directory, which it creates. */
function directoryStore(directory: string): ArchiveStore {
  const placeOf = (name: string) => join(directory, name);
  return {
    describe: placeOf,
    async put(name, path) {
      await mkdir(directory, { recursive: true });
      await copyFile(path, `${placeOf(name)}.part`);
      for (const [place, mode] of [
        [`${placeOf(name)}.part`, 'r+'],
        [directory, 'r'],
      ] as const) {
        const file = await open(place, mode);
        await file.sync();
        await file.close();
        if (mode === 'r+') await rename(place, placeOf(name));
      }
    },
    get: (name, path) => copyFile(placeOf(name), path),
  };
}

/** The settings of S3-compatible stores. */
type StoreConfig = Pick<
  Config,
  'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY' | 'AWS_SESSION_TOKEN' | 'AWS_REGION' | 'AWS_ENDPOINT_URL'
>;

/** Reads the credentials of S3. @throws Error when they are missing */
function createClient(config: StoreConfig): AwsClient {
  const {
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_SESSION_TOKEN: token,
    AWS_REGION: region,
  } = config;
  if (key === undefined || secret === undefined) {
    throw new Error('set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for S3');
  }
  return new AwsClient({
    ...{ accessKeyId: key, secretAccessKey: secret, region, service: 's3' },
    ...(token !== undefined && { sessionToken: token }),
  });
}

/** Keeps files in a bucket; `s3://bucket/prefix` or `http(s)://host/bucket/prefix`. */
function s3Store(address: string, config: StoreConfig): ArchiveStore {
  const client = createClient(config);
  const endpoint = config.AWS_ENDPOINT_URL ?? `https://s3.${config.AWS_REGION}.amazonaws.com`;
  const base = address.startsWith('s3://') ? `${endpoint.replace(/\/+$/, '')}/${address.slice(5)}` : address;
  const urlOf = (name: string) => `${base.replace(/\/+$/, '')}/${name}`;
  const send = async (name: string, request: RequestInit): Promise<Response> => {
    const response = await client.fetch(urlOf(name), request);
    if (response.ok) return response;
    const [, code] = /<Code>([^<]*)<\/Code>/.exec(await response.text()) ?? [];
    throw new Error(`${urlOf(name)}: ${request.method} was answered ${response.status} ${code ?? ''}`.trimEnd());
  };
  return {
    describe: urlOf,
    async put(name, path) {
      const body = await readFile(path);
      const sha256 = createHash('sha256').update(body).digest('hex');
      const headers = { 'x-amz-content-sha256': sha256, 'content-type': 'application/vnd.apache.parquet' };
      await send(name, { method: 'PUT', body, headers });
    },
    async get(name, path) {
      const response = await send(name, { method: 'GET' });
      await writeFile(path, Buffer.from(await response.arrayBuffer()));
    },
  };
}

const isS3 = (place: string): boolean => /^(s3|https?):\/\//.test(place);

/** Opens the store of an archive: a directory, or a bucket of an S3-compatible store. */
export function openStore(place: string, config: StoreConfig): ArchiveStore {
  return isS3(place) ? s3Store(place, config) : directoryStore(place);
}
