import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import type { Static, TSchema } from 'typebox';
import Value from 'typebox/value';
import { messageOf } from './message-of.ts';
import { networkFaults } from './network-address.ts';
import { isRedisCluster, redisUrlFault } from './redis-url.ts';
import { OidcProviders, removedSettings, Settings, serviceDatabaseNames } from './settings.ts';

/** All settings, validated and frozen. */
export type Config = Readonly<Static<typeof Settings>> & { readonly LOG_LEVEL: string };

/** Settings for services, with the addresses of the engines, given or embedded. */
export type ResolvedConfig = Config & {
  readonly DATABASE_URL: string;
  readonly REDIS_URL: string;
  /** False for the embedded Redis in memory: its queues do not survive a crash. */
  readonly REDIS_IS_DURABLE: boolean;
};

/** Adds the addresses of embedded engines to the settings. */
export function resolveConfig(
  config: Config,
  engines: { databaseUrl: string; redisUrl: string; redisIsDurable?: boolean },
): ResolvedConfig {
  return Object.freeze({
    ...config,
    DATABASE_URL: engines.databaseUrl,
    REDIS_URL: engines.redisUrl,
    REDIS_IS_DURABLE: engines.redisIsDurable ?? true,
  });
}

/** Lists the databases for reads: those of QUERY_DATABASE_URL, then DATABASE_URL. */
export function readDatabaseUrls({ QUERY_DATABASE_URL, DATABASE_URL }: ResolvedConfig): string[] {
  return [...new Set([...(QUERY_DATABASE_URL?.split(',') ?? []), DATABASE_URL])];
}

/** Returns the settings of one service, with its own DATABASE_URL if it has one; those of `query` are for reads only. */
export function configOfService(config: ResolvedConfig, service: string): ResolvedConfig {
  const own = Object.entries(serviceDatabaseNames).find(([name]) => name === service && name !== 'query')?.[1];
  const url = own === undefined ? undefined : config[own];
  return Object.freeze({ ...config, DATABASE_URL: url ?? config.DATABASE_URL });
}

/** Time for the rest of a shutdown, after the drain and the last command acknowledgement. */
const stopTimeoutMs = 3000;

/** The longest graceful shutdown, in ms. */
export function shutdownTimeoutMs({ ACK_TIMEOUT_MS, SHUTDOWN_DRAIN_MS, SESSION_DRAIN_MS }: Config): number {
  return SHUTDOWN_DRAIN_MS + SESSION_DRAIN_MS + ACK_TIMEOUT_MS + stopTimeoutMs;
}

/** Returns the time for a stopping broker or gateway to store the uploads that it holds, in ms. */
export function storeTimeoutMs(config: Config): number {
  return (shutdownTimeoutMs(config) - config.SESSION_DRAIN_MS) / 3;
}

/** The settings that name the map of the console, by precedence. */
export const mapSettings = ['MAP_TILES', 'MAP_TILES_URL', 'MAP_STYLE_URL'] as const;

/** Finds the setting that names the map; without one, the console shows the file at mapPath. */
export const mapSettingOf = (config: Pick<Config, (typeof mapSettings)[number]>) =>
  mapSettings.find((name) => config[name] !== undefined);

/** Returns the path of the file that map downloads and uploads replace. */
export const mapPath = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'map.pmtiles');

/** Invalid settings; the message lists all faults, one per line. */
export class InvalidSettings extends Error {
  constructor(faults: readonly string[]) {
    super(`invalid settings:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'InvalidSettings';
  }
}

/** Reads a variable, or the file that NAME_FILE names: how container platforms pass secrets. @throws when the file is unreadable */
function readVariable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const file = environment[`${name}_FILE`];
  if (environment[name] || !file) return environment[name];
  return readFileSync(file, 'utf8').trim();
}

/** Replaces fractions, of which Value.Convert would make whole numbers, by what no number is. */
function withoutFractions(given: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => [
      name,
      /^\s*[-+]?\d+\.\d/.test(text) && isWhole(name) ? Number.NaN : text,
    ]),
  );
}

function isWhole(name: string): boolean {
  const schema: TSchema | undefined = Object.entries<TSchema>(Settings.properties).find(([key]) => key === name)?.[1];
  return schema !== undefined && 'type' in schema && schema.type === 'integer';
}

/** Checks each setting apart, since one validation of all would stop after a number of errors. */
function settingFaults(settings: unknown): string[] {
  return Object.entries<TSchema>(Settings.properties).flatMap(([name, schema]) => {
    const value = Object(settings)[name];
    const errors = value === undefined ? [] : Value.Errors(schema, value);
    if (errors.length === 0) return [];
    return [`${name}: ${'rule' in schema ? String(schema.rule) : describeSchemaFaults(errors).rule}`];
  });
}

/** Settings that need another one. */
const partners = {
  OIDC_ISSUER: 'OIDC_CLIENT_ID',
  OIDC_CLIENT_ID: 'OIDC_CLIENT_SECRET',
  OIDC_CLIENT_SECRET: 'OIDC_ROLES',
  OIDC_ROLES: 'PUBLIC_URL',
  OIDC_PROVIDERS: 'PUBLIC_URL',
  MQTT_TLS_CERTIFICATE: 'MQTT_TLS_KEY',
  MQTT_TLS_CLIENT_CRL: 'MQTT_TLS_CLIENT_CA',
  HOME_ASSISTANT_MQTT_URL: 'HOME_ASSISTANT_APPLICATIONS',
  TELTONIKA_TLS_PORT: 'MQTT_TLS_CERTIFICATE',
  SMTP_URL: 'MAIL_FROM',
  ALERT_EMAIL: 'SMTP_URL',
} as const;

/** Names the partners that are missing; a port of 0 is closed and needs none. */
function missingPartners(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(partners).flatMap(([name, partner]) =>
    (settings[name] ?? '0') !== '0' && settings[partner] === undefined ? [`${partner}: is required with ${name}`] : [],
  );
}

/** Checks the settings of the map: their addresses, and that there is one map. */
function mapFaults(settings: Readonly<Record<string, string>>): string[] {
  const given = ['MAP_TILES', 'MAP_TILES_URL', 'MAP_STYLE_URL'].filter((name) => settings[name] !== undefined);
  const [one, ...others] = given;
  return [
    ...given.flatMap((name) =>
      name !== 'MAP_TILES' && !URL.canParse(settings[name] ?? '') ? [`${name}: must be an address`] : [],
    ),
    ...others.map((name) => `${name}: cannot be combined with ${one}`),
  ];
}

/**
 * Reads the settings from environment variables; an empty variable counts as not set, and NAME_FILE names a file with the value.
 * @throws InvalidSettings naming every variable that is at fault
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given: Record<string, string> = {};
  const unreadable: string[] = [];
  for (const name of Object.keys(Settings.properties)) {
    try {
      const value = readVariable(environment, name);
      if (value !== undefined && value !== '') given[name] = value;
    } catch (error) {
      unreadable.push(`${name}_FILE: ${messageOf(error)}`);
    }
  }
  if (unreadable.length > 0) throw new InvalidSettings(unreadable);
  const settings = Value.Convert(Settings, Value.Default(Settings, withoutFractions(given)));
  const faults = settingFaults(settings);
  faults.push(...networkFaults(given), ...mapFaults(given));
  faults.push(...missingPartners(given), ...redisFaults(given), ...providerFaults(given));
  if (faults.length > 0) throw new InvalidSettings(faults);
  return Object.freeze({ ...(settings as Config), ...hashTagOf(settings as Config) });
}

/** An identity provider of operators. */
export type OidcProvider = Required<Static<typeof OidcProviders>[number]>;

/** Lists the providers of OIDC_PROVIDERS after the one of OIDC_ISSUER, whose id is `provider`. */
export function oidcProviders(config: Config): OidcProvider[] {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, OIDC_ROLES: roles } = config;
  const { OIDC_NAME: name, OIDC_SCOPE: scope, OIDC_PROVIDERS = '[]' } = config;
  const further = (JSON.parse(OIDC_PROVIDERS) as Static<typeof OidcProviders>).map((one) => ({ scope, ...one }));
  if (!issuer || !clientId || !clientSecret || !roles) return further;
  return [{ id: 'provider', name, issuer, clientId, clientSecret, scope, roles }, ...further];
}

/** Checks OIDC_PROVIDERS; faults name no values, which include secrets. */
function providerFaults({ OIDC_PROVIDERS: text, OIDC_ISSUER }: Readonly<Record<string, string>>): string[] {
  if (text === undefined) return [];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return ['OIDC_PROVIDERS: must be a JSON array'];
  }
  const errors = Value.Errors(OidcProviders, list);
  if (errors.length > 0) {
    const { field, rule } = describeSchemaFaults(errors);
    return [`OIDC_PROVIDERS: ${[field, rule].filter((part) => part !== '').join(' ')}`];
  }
  const providers = list as Static<typeof OidcProviders>;
  const areUnique = (values: readonly unknown[]) => new Set(values).size === values.length;
  return [
    ...(areUnique(providers.map(({ id }) => id)) ? [] : ['OIDC_PROVIDERS: every id must be unique']),
    ...(areUnique([OIDC_ISSUER, ...providers.map(({ issuer }) => issuer)])
      ? []
      : ['OIDC_PROVIDERS: every issuer must be unique, also among OIDC_ISSUER']),
  ];
}

function redisFaults({ REDIS_URL: urls }: Readonly<Record<string, string>>): string[] {
  const fault = urls && /^rediss?(\+(cluster|sentinel))?:/.test(urls) ? redisUrlFault(urls) : undefined;
  return fault === undefined ? [] : [`REDIS_URL: ${fault}`];
}

/** Adds a hash tag on a cluster: all keys of a Lua script must be in one slot. Other shards have tags of their own. */
function hashTagOf({ REDIS_URL = '', QUEUE_PREFIX }: Config): Partial<Config> {
  if (!isRedisCluster(REDIS_URL) || QUEUE_PREFIX.includes('{')) return {};
  return { QUEUE_PREFIX: `{${QUEUE_PREFIX}}` };
}

/** Lists the variables that earlier versions read and this one does not. */
export function findRemovedSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  return removedSettings.flatMap((name) => [name, `${name}_FILE`]).filter((name) => environment[name]);
}

/** The directory for files of the user who runs a command (XDG Base Directory Specification). */
export function userDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME: directory = '', HOME: home = homedir() } = environment;
  return join(isAbsolute(directory) ? directory : join(home, '.config'), 'odograph');
}

/** Whether npm runs this process for a script of package.json, as its only command. */
export function startedByNpm(environment: NodeJS.ProcessEnv = process.env): boolean {
  return environment['npm_lifecycle_event'] === 'start' || environment['npm_lifecycle_event'] === 'demo';
}

/** Builds the environment of a child process: that of this process, overridden by these settings. */
export function childEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings };
}

/** File in the data directory with the addresses of the embedded engines while the platform runs, for the command line. */
export const embeddedEnginesFile = 'engines.json';
