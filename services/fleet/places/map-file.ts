import { stat } from 'node:fs/promises';
import { versionOf } from '@odograph/http/file-answer';
import { MapNames } from '@odograph/map-tiles/names';
import { type Config, mapPath, mapSettingOf } from '@odograph/runtime/config';

/** How long a replaced file stays open, for reads in progress. */
const closeDelayMs = 60_000;

/** The names in the file of the console's map, which may be replaced, damaged and repaired while the platform runs. */
export class MapFile {
  readonly #path: string | undefined;
  #version: string | undefined;
  #names: MapNames | undefined;
  #opening: Promise<MapNames | undefined> = Promise.resolve(undefined);

  constructor(config: Pick<Config, 'DATA_DIR' | 'MAP_TILES' | 'MAP_TILES_URL' | 'MAP_STYLE_URL'>) {
    const setting = mapSettingOf(config);
    this.#path = setting === undefined ? mapPath(config) : config.MAP_TILES;
  }

  /** Opens the current file once. @returns undefined if it is missing, unreadable or has no vector tiles */
  open(): Promise<MapNames | undefined> {
    this.#opening = this.#opening.then(() => this.#open());
    return this.#opening;
  }

  async close(): Promise<void> {
    await (await this.#opening)?.close();
  }

  async #open(): Promise<MapNames | undefined> {
    const path = this.#path;
    if (path === undefined) return undefined;
    const version = await stat(path).then(
      (stats) => versionOf(stats).etag,
      () => undefined,
    );
    if (version === this.#version) return this.#names;
    const before = this.#names;
    if (before) setTimeout(() => void before.close(), closeDelayMs).unref();
    this.#version = version;
    // The console reports why a file cannot be used.
    this.#names = version === undefined ? undefined : await MapNames.open(path).catch(() => undefined);
    return this.#names;
  }
}
